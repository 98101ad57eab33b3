//! Measures iterations in which few tasks are dear: `mpirun -n 9 dear_tasks [N_TASKS N_DEAR TIMES] [options]`.
//!
//! The first `N_DEAR` tasks sleep `TIMES` ms, all others 1 ms, so that there may be more workers than cores. Prints the time
//! of each iteration over that of a perfect split.

use master_worker::{BoxError, Error, Iteration, Options, Program, Report};
use std::io::Write;
use std::ops::Range;
use std::time::Duration;

const N_ITERATIONS: u64 = 6;

#[derive(Clone)]
struct DearFirst {
    n_tasks: u64,
    n_dear: u64,
    times: u64,
}

impl Program for DearFirst {
    type Shared = ();
    type Input = ();
    type Output = ();

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration < N_ITERATIONS).then(|| Iteration::new(self.n_tasks, ()))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (): &(), tasks: Range<u64>, (): ()) {
        for task in tasks {
            let time_ms = if task < self.n_dear { self.times } else { 1 };
            std::thread::sleep(Duration::from_millis(time_ms));
        }
    }

    fn recover(&mut self, _tasks: Range<u64>, (): ()) {}

    fn finish(&mut self, report: &Report) -> Result<(), BoxError> {
        let work_ms = self.n_tasks + self.n_dear * (self.times - 1);
        let mut line = String::new();
        for one in &report.history {
            let ideal_ms = work_ms as f64 / one.workers.len() as f64;
            let ratio = 1e3 * one.duration_s / ideal_ms.max(self.times as f64);
            line += &format!(" {ratio:.3}");
        }
        Ok(writeln!(std::io::stdout(), "time over a perfect split:{line}")?)
    }
}

fn main() -> Result<(), Error> {
    let (options, arguments) = Options::parse(std::env::args().skip(1));
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    let (n_tasks, n_dear) = (number(0).unwrap_or(400), number(1).unwrap_or(15));
    let times = number(2).unwrap_or(100).max(1);
    master_worker::run(DearFirst { n_tasks, n_dear, times }, options)
}
