//! Test program, on the ranks of a launcher or on threads: `mpirun -n 3 ranks CASE [OPTION...]`.
#![expect(clippy::print_stdout, reason = "the tests read it")]

#[path = "../../tests/it/bodies.rs"]
mod bodies;
mod cases;

use comm::{MpiTransport, Transport};
use master_worker::{Options, map};
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(60);

fn main() -> Result<(), master_worker::Error> {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let options = Options::parse(arguments).0;
    match case.as_str() {
        "bodies" => Ok(every_body()?),
        "digest" => cases::digest(options),
        "faulty" => cases::faulty(options),
        "unreadable" => cases::unreadable(options),
        "headless" => cases::headless(options),
        "endless" => cases::endless(options),
        "stuck" => cases::stuck(options),
        "large" => cases::large(options),
        "shared" => cases::shared(options),
        "many" => cases::many(options),
        "twice" => twice(options),
        "inside" => inside(options),
        other => Err(master_worker::Error::Program(format!("there is no case `{other}`").into())),
    }
}

/// Runs the tests that must hold on any number of ranks.
fn every_body() -> Result<(), comm::CommError> {
    let mut end = MpiTransport::init()?;
    for (name, body) in bodies::all::<MpiTransport>() {
        body(&mut end);
        end.barrier(WAIT)?;
        if end.rank() == 0 {
            println!("passed {name} after {:.2} s", end.now_s());
        }
    }
    if end.rank() == 0 {
        println!("passed all");
    }
    end.leave(WAIT)
}

/// Makes two runs, one after the other.
fn twice(options: Options) -> Result<(), master_worker::Error> {
    let first = map((0..50).collect(), options.clone(), |number: u64| number + 1)?;
    // Only the master has the results.
    let second = map(first.unwrap_or_default(), options, |number: u64| 3 * number)?;
    if let Some(second) = second {
        println!("the sum is {}", second.iter().sum::<u64>());
    }
    Ok(())
}

/// Uses MPI itself, before the run and after it.
fn inside(options: Options) -> Result<(), master_worker::Error> {
    let mut own = MpiTransport::init()?;
    own.barrier(WAIT)?;
    cases::digest(options)?;
    own.barrier(WAIT)?;
    if own.rank() == 0 {
        println!("{} ranks are still together", own.n_ranks());
    }
    Ok(own.leave(WAIT)?)
}
