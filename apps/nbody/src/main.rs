//! The program `nbody`: reads arguments, prints a line, writes files.

use master_worker::{Options, Outcome, outcome};
use nbody::{Arguments, Conservation, Simulation, USAGE};
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// Exit code of a failed run.
const FAILED: u8 = 1;
/// Exit code for an option or a file that is not valid.
const WRONG: u8 = 2;
/// Exit code when the energy changed by too much.
const DRIFTED: u8 = 3;

fn main() -> ExitCode {
    let (options, rest) = Options::parse(std::env::args().skip(1));
    let arguments = Arguments::parse(rest);
    if arguments.as_ref().is_ok_and(|arguments| arguments.is_help) {
        let _written = write!(std::io::stdout(), "{USAGE}\n{}", Options::HELP);
        return ExitCode::SUCCESS;
    }
    let drift_max = arguments.as_ref().ok().and_then(|arguments| arguments.drift_max);
    match outcome(Simulation::new(arguments), options) {
        Ok(Some(done)) => end(done, drift_max),
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => complain(&error, FAILED),
    }
}

/// Ends the run on the master.
fn end(mut done: Outcome<Simulation>, drift_max: Option<f64>) -> ExitCode {
    let elapsed_s = done.program.elapsed_s();
    if let Err(error) = done.program.finish() {
        return complain(&*error, WRONG);
    }
    let (bodies, conservation) = (done.program.bodies(), done.program.conservation());
    let (n_bodies, n_steps) = (bodies.len(), done.report.n_iterations);
    let fingerprint = done.program.fingerprint();
    let said = format!(
        "{n_bodies} bodies, {n_steps} steps in {elapsed_s:.3} s; {conservation}; bodies {fingerprint:016x}\n"
    );
    // Errors are ignored: a user who closed standard output does not want the text.
    let _written = std::io::stdout().write_all(said.as_bytes());
    judge(conservation, drift_max)
}

fn judge(conservation: &Conservation, drift_max: Option<f64>) -> ExitCode {
    match drift_max {
        Some(drift_max) if !conservation.holds(drift_max) => {
            let (found, line) =
                (conservation.energy_drift, "take a smaller `--dt`, or more `--softening`");
            say(&format!(
                "the relative energy drift is {found:.1e}, more than `--max-drift {drift_max}`; {line}"
            ));
            DRIFTED.into()
        }
        _ => ExitCode::SUCCESS,
    }
}

fn complain(error: &dyn Error, code: u8) -> ExitCode {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    say(&causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}")));
    code.into()
}

fn say(text: &str) {
    let _written = writeln!(std::io::stderr(), "nbody: {text}");
}
