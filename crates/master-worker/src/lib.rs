//! Programs of a master and workers that deal themselves well: on the ranks of an MPI launcher, or on threads.
//!
//! You write what the tasks of an iteration are, how one is computed, and what becomes of its result. The
//! library sends the tasks out in chunks whose sizes follow what was measured, sends the next chunk just before
//! the present one ends, computes again elsewhere what panicked or whose worker died, writes checkpoints, and can
//! be watched and tuned from outside.
//!
//! # Ten minutes
//!
//! **A function of many items** needs no more than [`map`]:
//!
//! ```
//! use master_worker::{Options, map};
//!
//! let lengths = map(vec!["one", "three"].into_iter().map(str::to_owned).collect(), Options::new(),
//!     |word: String| word.len())?;
//! assert_eq!(lengths, Some(vec![3, 5]));
//! # Ok::<(), master_worker::Error>(())
//! ```
//!
//! **A program with iterations** is a [`Program`]. Here heat spreads along a rod: every iteration the
//! workers get the whole rod, and return the new values of their parts of it.
//!
//! ```
//! use master_worker::{Error, Iteration, Options, Plain, Program};
//! use std::ops::Range;
//!
//! #[derive(Clone)]
//! struct Rod {
//!     heat: Vec<f64>,
//! }
//!
//! impl Program for Rod {
//!     type Shared = Plain<f64>; // to all workers, at the start of an iteration
//!     type Input = (); // to one worker, with a chunk of tasks: their numbers are enough here
//!     type Output = Plain<f64>; // back, for a chunk
//!
//!     fn next(&mut self, iteration: u64) -> Option<Iteration<Plain<f64>>> {
//!         let n_tasks = self.heat.len() as u64;
//!         (iteration < 100).then(|| Iteration::new(n_tasks, Plain::from(&self.heat[..])))
//!     }
//!
//!     fn input(&self, _tasks: Range<u64>) {}
//!
//!     fn work(&self, heat: &Plain<f64>, tasks: Range<u64>, _: ()) -> Plain<f64> {
//!         let at = |place: u64| heat[(place as usize).min(heat.len() - 1)];
//!         tasks.map(|i| (at(i.saturating_sub(1)) + at(i) + at(i + 1)) / 3.0).collect()
//!     }
//!
//!     fn recover(&mut self, tasks: Range<u64>, heat: Plain<f64>) {
//!         self.heat[tasks.start as usize..tasks.end as usize].copy_from_slice(&heat);
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let mut heat = vec![0.0; 1000];
//!     heat[0] = 100.0;
//!     master_worker::run(Rod { heat }, Options::from_args())
//! }
//! ```
//!
//! `cargo run -- --progress` runs it on a thread per core, `mpirun -n 4 target/debug/rod --progress` on four
//! ranks: the same binary, for Open MPI and MPICH. [`Options::from_args`] lists what else can be said there.
//!
//! **What is sent.** Every type that serde knows can be shared, input and output. For many numbers, or structs of
//! numbers that derive [`Element`], [`Plain`] sends them from where they lie and reads them where they arrived.
//! An iteration that needs no new shared data says [`Iteration::unchanged`].
//!
//! **What is the result.** A task's result depends on the task and the shared data only, so it is the same on any
//! number of ranks. `recover` hears of chunks in any order: put results where their tasks are. If you add them
//! up instead, sums of floats differ in their last digits from run to run.
//!
//! **Not all of them.** A search says in [`is_settled`](Program::is_settled) that it has found;
//! [`Iteration::priority`] says what to begin with; a [`Cancel`] stops the run from anywhere.
//!
//! **Nothing is lost.** Implement [`save`](Program::save) and [`restore`](Program::restore), and
//! `--checkpoint FILE` writes the state after each iteration; `--checkpoint FILE --resume` goes on from it after
//! whatever happened, to the same result. A task that panics is tried on another worker, then reported with what
//! it said. When a worker dies and the others can live on, its tasks are dealt again: threads, and workers that were
//! started later with Open MPI 5 under `mpirun --with-ft ulfm`, which are replaced as well. Any other rank that dies
//! takes the whole job with it, with a code that is not 0, and the checkpoint remains. Nobody is left to say so when a signal ends
//! a rank that is alone: under `--with-ft ulfm` its launcher returns 0, so look for the result there.
//!
//! **Why is a worker idle?** `--explain` says it after each iteration and as a table in the end, `--report FILE` writes
//! the same as JSON, and [`Program::end_iteration`] gets the numbers as an [`IterationReport`]. Under `sintonia run`
//! they are a part of the report, with pictures.
//!
//! **How many workers?** `--workers auto` follows the performance model of the tunlet `worker-count`, fed with
//! what the program measures of itself, from one iteration to the next. It undoes what makes iterations slower.
//! Workers that are not needed wait. With Open MPI 5 and MPICH since 4.3 further ones are started when they
//! gain more than that costs, up to `--max-workers N`, and those that are of no use for long end for good
//! ([`Spawned`]): `mpirun -n 1 rod --workers auto` begins alone. With other libraries all that there may be are
//! launched at once.
//!
//! **Tuned from outside.** `sintonia run --tunlet factoring -- mpirun ...` knows every program written with
//! this library: its file carries the description of its events, its shares and its number of workers.
//!
//! # Invariants
//! - Every task is recovered once, whatever panics, dies or is late.
//! - Every wait has a deadline.
//! - No `unsafe`.
//!
//! # Not here
//! Sizes of chunks (`chunking`), messages (`comm`), what tools see (`tuning-points`), simulated time (`simulator`).

#![forbid(unsafe_code)]

mod help;
mod map;
mod program;
mod run;

mod master;
mod worker;

mod checkpoint;
mod ledger;
mod network;
mod staff;
mod talk;
mod tool;

mod element;
mod error;
mod message;
mod options;
mod panics;
mod protocol;
mod report;
mod written;

/// For tests with any bytes: what is read of files that a fault or another version may have made.
#[doc(hidden)]
pub mod reading {
    /// The iterations and the content of a checkpoint with these bytes, if they are one.
    #[must_use]
    pub fn checkpoint(bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
        crate::checkpoint::of_bytes(bytes)
    }
}

pub use checkpoint::CheckpointError;
pub use comm::{Datatype, Field, Kind, Layout, Number};
pub use element::Element;
#[doc(hidden)]
pub use element::derived;
pub use error::Error;
pub use map::map;
pub use master::{lead, lead_staff};
pub use master_worker_derive::Element;
pub use message::{Message, MessageError, Plain, from_bytes, to_bytes};
pub use network::{Network, NetworkFileError, NetworkSource};
pub use options::{Cancel, Options, OptionsError, Prefetch, Talk, Workers};
pub use program::{BoxError, Iteration, Program};
pub use report::{IterationReport, Report, WorkerReport};
pub use run::{Outcome, outcome, run};
pub use staff::{Change, Forecast, Parked, Spawned, Staff, Wish};
pub use worker::serve;
pub use written::ReportFileError;
