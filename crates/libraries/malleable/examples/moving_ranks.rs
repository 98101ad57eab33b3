//! Test program: `moving_ranks SCENARIO`, started by an MPI launcher. Some ranks are sources and some targets.
#![expect(clippy::print_stdout, reason = "the tests read it")]
#![expect(clippy::print_stderr, reason = "the tests read it")]
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "tests are small")]

#[path = "moving_ranks/cells.rs"]
mod cells;

use cells::Change;
use malleable::moving::{Method, Moving};
use malleable::probing;
use malleable::{Cut, Data};
use mpi::{Comm, Mpi, Op};
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

/// Result of a scenario.
type Outcome = Result<(), Box<dyn Error>>;

/// Timeout of any wait.
const SOON: Duration = Duration::from_secs(60);

/// Ranks of sources and of targets.
type Seats = (&'static [u32], &'static [u32]);

/// Sources and targets among five ranks.
const SEATS: [Seats; 5] = [
    // All ranks continue and two new ones come between them; fewer continue, under other numbers.
    (&[0, 1], &[0, 2, 1, 3]),
    (&[3, 1, 2, 0], &[1, 3]),
    // No rank continues.
    (&[0, 2, 4], &[1, 3]),
    // One rank becomes all; the number stays the same and one is replaced.
    (&[4], &[0, 1, 2, 3, 4]),
    (&[0, 1, 2], &[0, 4, 2]),
];

const CUTS: [Cut; 7] = [
    Cut::Even,
    Cut::Weighted,
    Cut::Aligned(4),
    Cut::Cyclic(3),
    Cut::Blocks2d { n_columns: 6 },
    Cut::Blocks3d { n_rows: 4, n_columns: 3 },
    Cut::Given(longer_and_longer),
];

/// Gives each part one row more than the one before, as far as there are rows.
fn longer_and_longer(n_rows: u64, n_parts: u32) -> Vec<u64> {
    let ends = (0..n_parts).map(|part| u64::from(part * (part + 1) / 2).min(n_rows));
    ends.chain([n_rows]).collect()
}

fn main() -> ExitCode {
    let failed = run().inspect_err(|error| eprintln!("{error}")).is_err();
    ExitCode::from(u8::from(failed))
}

fn run() -> Outcome {
    let mpi = Mpi::init()?;
    let world = Comm::world(&mpi)?;
    let scenario = std::env::args().nth(1).unwrap_or_default();
    let said = match scenario.as_str() {
        "all" => all(&world, &SEATS)?,
        "few" => all(&world, &SEATS[..1])?,
        "narrow" => {
            // Counts are limited to 7, so that everything long is sent as datatypes of datatypes.
            mpi.set_count_max(7);
            all(&world, &SEATS[..1])?
        }
        "best" => best(&world)?,
        "refused" => refused(&world)?,
        other => return Err(format!("there is no scenario `{other}`").into()),
    };
    world.barrier()?;
    if world.rank() == 0 {
        println!("{said}");
    }
    world.free()?;
    mpi.close();
    Ok(())
}

/// Runs every method for all seats, with the partitions in turns.
fn all(world: &Comm, seats: &[Seats]) -> Result<String, Box<dyn Error>> {
    let mut n_changes = 0_u32;
    let mut cuts = CUTS.into_iter().cycle();
    for (sources, targets) in seats {
        for method in Method::ALL {
            for cut in cuts.by_ref().take(2) {
                let change = Change { sources, targets, cut };
                moved(world, &change, method)
                    .map_err(|error| format!("{change:?} by {method:?}: {error}"))?;
                n_changes += 1;
            }
        }
        // So every method meets every partition.
        cuts.next();
    }
    let mut all = [n_changes];
    world.allreduce(Op::Min, &mut all)?;
    Ok(format!("{} changes left everything in its place", all[0]))
}

fn moved(world: &Comm, change: &Change, method: Method) -> Outcome {
    let bridge = change.bridge(world);
    let before = change.before(world.rank());
    let mut cells = before.clone();
    let mut moving = Moving::begin(&bridge, &mut Data::of(&mut cells), method)?;
    if change.sources.contains(&world.rank()) {
        while !moving.test(&bridge)? {
            std::thread::yield_now();
        }
        // As the iterations do that continue meanwhile.
        cells.compute();
    } else if !moving.wait(&bridge, SOON)? {
        return Err("constant data do not arrive".into());
    }
    let [constant, variable] = moving.switch(&bridge, &mut Data::of(&mut cells), SOON)?;
    let is_target = change.targets.contains(&world.rank());
    let expected = if is_target { change.after(world.rank()) } else { before.computed() };
    if change.sources.contains(&world.rank()) || is_target {
        cells.same_as(&expected)?;
    }
    let bytes = change.bytes();
    if [constant.bytes, variable.bytes] != bytes {
        return Err(format!("{constant:?} and {variable:?} instead of {bytes:?} bytes").into());
    }
    Ok(())
}

/// Checks that all methods are tried, and one is chosen.
fn best(world: &Comm) -> Result<String, Box<dyn Error>> {
    let change = Change { sources: &[0, 1], targets: &[2, 1], cut: Cut::Even };
    let bridge = change.bridge(world);
    let trials = probing::try_all(&bridge)?;
    let n_expected = if world.rank() < 2 { trials.len().max(2) } else { 0 };
    if trials.len() != n_expected {
        return Err(format!("{trials:?}").into());
    }
    let mut cells = change.before(world.rank());
    // There are too few data for a trial.
    let n_bytes = probing::constant_bytes(&Data::of(&mut cells));
    let chosen = probing::choose(&bridge, n_bytes)?;
    Ok(format!("{} methods tried, {} chosen", trials.len(), chosen.name()))
}

/// Checks that data which cannot be moved are refused on all ranks, and the state stays unchanged.
fn refused(world: &Comm) -> Result<String, Box<dyn Error>> {
    let change = Change { sources: &[0, 1], targets: &[0, 1, 2], cut: Cut::Even };
    let own = world.rank();
    let mut said = Vec::new();
    for wrong in ["rows", "total", "registered", "weights"] {
        let mut cells = change.before(own);
        match wrong {
            "rows" if own == 1 => cells.x.push(0.0),
            "total" => cells.n += 1,
            "registered" => cells.is_otherwise = own == 2,
            "weights" => (cells.is_dense, cells.cut) = (true, Cut::Weighted),
            _ => {}
        }
        let before = cells.clone();
        let bridge = change.bridge(world);
        let error = Moving::begin(&bridge, &mut Data::of(&mut cells), Method::Async).err();
        cells.same_as(&before)?;
        said.push(error.ok_or_else(|| format!("{wrong} is not refused"))?.to_string());
    }
    Ok(said.join("\n"))
}
