//! Main program of `cg` for a fixed number of ranks: `src/main.rs` and `src/state.rs` show what a variable number
//! takes.

use cg::{Arguments, Cg, CgError, Report, run};
use mpi::{Comm, Mpi};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(solve)
}

fn solve(args: &Arguments) -> Result<Option<Report>, CgError> {
    let comm = Comm::world(&Mpi::init()?)?;
    let mut cg = Cg::begin(args, &comm)?;
    while cg.goes_on() {
        cg.step(&comm)?;
    }
    let report = Report::of(&cg, args, &comm)?;
    comm.mpi().close();
    Ok(report)
}
