//! The program `cg`: arguments in, a line and files out.

use cg::{Alone, Arguments, Cg, CgError, Report, run};
use mpi::{Comm, Mpi, MpiError};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(Arguments::parse(std::env::args().skip(1)), |arguments| match Mpi::init() {
        Ok(mpi) => {
            let report = on_ranks(arguments, &Comm::world(&mpi)?);
            mpi.close();
            report
        }
        Err(MpiError::NoLauncher) => alone(arguments).map(Some),
        Err(error) => Err(error.into()),
    })
}

/// The first rank tells the report.
fn on_ranks(arguments: &Arguments, comm: &Comm) -> Result<Option<Report>, CgError> {
    let mut cg = Cg::begin(arguments, comm)?;
    while cg.goes_on() {
        cg.step(comm)?;
    }
    let report = Report::of(&cg, arguments, comm)?;
    Ok((comm.rank() == 0).then_some(report))
}

fn alone(arguments: &Arguments) -> Result<Report, CgError> {
    let mut cg = Cg::begin(arguments, &Alone)?;
    while cg.goes_on() {
        cg.step(&Alone)?;
    }
    Report::of(&cg, arguments, &Alone)
}
