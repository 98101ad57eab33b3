//! Main program of `cg`, for a number of ranks that may change.

use cg::{Arguments, Cg, CgError, Report, run};
use malleable::{Malleable, Options, Step};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(solve)
}

fn solve(args: &Arguments) -> Result<Option<Report>, CgError> {
    let mut run = Malleable::begin(Options::from_args())?;
    let mut cg = if run.is_new() { Cg::empty(args) } else { Cg::begin(args, run.comm())? };
    while cg.goes_on() {
        let Step::Continue = run.resize_point(cg.n_iterations(), &mut cg)? else { return Ok(None) };
        cg.step(run.comm())?;
    }
    let report = Report::of(&cg, args, run.comm())?;
    run.finish()?;
    Ok(report)
}
