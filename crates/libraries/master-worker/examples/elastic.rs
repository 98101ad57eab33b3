//! A rank for the tests of workers that come and go: `elastic N_ITERATIONS [TASK_US] [set=AFTER:N]...
//! [kill=ITERATION] [stuck=ITERATION] [options]`.

#[path = "../tests/it/steps.rs"]
#[expect(dead_code, reason = "the tests compute what is expected")]
mod steps;

use master_worker::{Error, Options, outcome};
use std::io::Write;
use std::time::Duration;
use steps::Steps;

fn main() -> Result<(), Error> {
    let (options, arguments) = Options::parse(std::env::args().skip(1));
    let mut numbers = arguments.iter().filter_map(|text| text.parse::<u64>().ok());
    let mut program = Steps::new(numbers.next().unwrap_or(20));
    program.task = Duration::from_micros(numbers.next().unwrap_or(0));
    for (name, value) in arguments.iter().filter_map(|text| text.split_once('=')) {
        let mut numbers = value.split(':').map(|text| text.parse::<u64>().ok());
        let mut number = || numbers.next().flatten();
        match name {
            "set" => {
                let (after, n_workers) = (number().unwrap_or(0), number().unwrap_or(1));
                program.script.push((after, u32::try_from(n_workers).unwrap_or(1)));
            }
            "kill" => program.killed_in = number(),
            "stuck" => program.stuck_in = number(),
            _ => {}
        }
    }
    if let Some(outcome) = outcome(program, options)? {
        let Steps { seen, n_lost, .. } = &outcome.program;
        let digest = outcome.program.digest();
        let mut out = std::io::stdout();
        let _written = writeln!(out, "workers {seen:?}\nlost {n_lost}\ndigest {digest:016x}");
        for remark in &outcome.report.remarks {
            let _written = writeln!(out, "remark {remark}");
        }
    }
    Ok(())
}
