//! Test program for one rank: `mpi_ranks SCENARIO`, started by an MPI launcher.
#![expect(clippy::print_stdout, reason = "the tests read it")]
#![expect(clippy::print_stderr, reason = "the tests read it")]

#[path = "mpi_ranks/arrays.rs"]
mod arrays;
#[path = "mpi_ranks/background.rs"]
mod background;
#[path = "mpi_ranks/together.rs"]
mod together;
#[path = "mpi_ranks/worlds.rs"]
mod worlds;

use mpi::{Comm, Mpi, Nodes};
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

/// Result of a scenario.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Longest wait when nothing is wrong.
pub(crate) const SOON: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let scenario = std::env::args().nth(1).unwrap_or_default();
    let is_dynamic = ["worlds", "started"].contains(&scenario.as_str());
    let mpi = if is_dynamic {
        Mpi::init_dynamic(Nodes { is_crowded: true, is_fixed: false }, || {})?
    } else {
        Mpi::init()?
    };
    let world = Comm::world(&mpi)?;
    match scenario.as_str() {
        "everything" => {
            together::all(&world)?;
            background::all(&world)?;
            arrays::all(&world)?;
        }
        "narrow" => {
            // A tiny limit on counts, so that everything is sent as datatypes and in pieces.
            mpi.set_count_max(3);
            together::all(&world)?;
            background::all(&world)?;
            arrays::all(&world)?;
        }
        "worlds" => worlds::parents(&world)?,
        "started" => worlds::child(&mpi, &world)?,
        other => return Err(format!("there is no scenario `{other}`").into()),
    }
    world.barrier()?;
    if world.rank() == 0 && scenario != "started" {
        println!("{} ranks did {scenario}", world.size());
    }
    world.free()?;
    mpi.close();
    Ok(())
}

/// Returns an error with the caller's place and both values, unless they are equal.
#[track_caller]
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Outcome {
    let place = std::panic::Location::caller();
    if found == expected {
        return Ok(());
    }
    Err(format!("{place}: found {found:?}, not {expected:?}").into())
}
