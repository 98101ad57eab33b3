//! Runs master/worker programs with dynamic load balancing, on the ranks of an MPI launcher or on threads.
//!
//! You write what the tasks of an iteration are, how one is computed, and what becomes of its result. The library sends
//! the tasks out in chunks sized by what was measured, prefetches each worker's next chunk just before its present one
//! ends, recomputes elsewhere the chunks that panicked or whose worker died, writes checkpoints, and can be observed
//! and tuned from outside.
//!
//! # In ten minutes
//!
//! **A function applied to many items** needs only [`map()`]:
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
//! **Tasks that make tasks**, as searches of trees do, are a [`bag()`]: a function adds to it what is to be done next, and
//! it ends when nothing is left.
//!
//! **A program with iterations** is a [`Program`]. Here heat spreads along a rod: in every iteration the workers get
//! the whole rod and return the new values of their parts of it.
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
//! `cargo run -- --progress` runs it on one thread per core, `mpirun -n 4 target/debug/rod --progress` on four ranks:
//! the same binary, for Open MPI and MPICH. [`Options::HELP`] lists the other options.
//!
//! **Data.** Every type that serde supports can be shared data, input and output. For many numbers, or structs of
//! numbers that derive [`Element`], [`Plain`] sends them from where they lie and reads them where they arrived. An
//! iteration without new shared data is an [`Iteration::unchanged`].
//!
//! **Results.** A task's result depends on the task and the shared data only, so it is the same on any number of ranks.
//! `recover` gets the chunks in any order: store each result at its task's position. If you add results up instead,
//! sums of floats differ in their last digits from run to run.
//!
//! **Stopping early.** A search returns true from [`is_settled`](Program::is_settled) once it has found its answer;
//! [`Iteration::priority`] sets which tasks are dealt first, [`Iteration::near`] and [`Iteration::keep_places`] to whom; a [`Cancel`] stops the run from anywhere.
//!
//! **Fault tolerance.** Implement [`save`](Program::save) and [`restore`](Program::restore), and `--checkpoint FILE`
//! writes the state after each iteration; `--checkpoint FILE --resume` continues from it after any failure, to the same
//! result. A task that panics is retried on another worker, then reported with its panic message. The tasks of a worker
//! that is silent for much longer than they should take are done elsewhere as well, and the first answer counts
//! ([`Options::overdue`]). When a worker dies
//! and the others can live on, its tasks are dealt again: this holds for threads, and with Open MPI 5 under `mpirun
//! --with-ft ulfm`, where another one is started in its place if there are fewer than [`Options::workers`] asks for.
//! A master that dies, and elsewhere any rank, ends the whole job
//! with an exit code that is not 0, and the checkpoint remains. One trap: when a signal ends a rank that is alone under
//! `--with-ft ulfm`, its launcher returns 0, so look for the result there.
//!
//! **Idle workers.** `--explain` prints why workers were idle, after each iteration and as a table at the end;
//! `--record FILE` writes the same as JSON, and [`Program::end_iteration`] gets the numbers as an [`IterationReport`].
//! Under `sintonia run` they are part of the report, with charts.
//!
//! **Number of workers.** `--workers auto` follows the performance model of the tunlet `worker-count`, fed from one
//! iteration to the next with what the program measures of itself. It undoes changes that make iterations slower.
//! Workers that are not needed wait. With Open MPI 5 and MPICH since 4.3, further workers are started when they gain
//! more than their start costs, up to `--max-workers N`, and workers that stay useless for long are ended for good
//! ([`Spawned`]): `mpirun -n 1 rod --workers auto` begins alone. With other libraries, launch the largest number of
//! workers at once.
//!
//! **Tuned from outside.** `sintonia run --tunlet factoring -- mpirun ...` recognizes every program written with this
//! library: its executable carries the description of its events, its shares and its number of workers.
//!
//! # Invariants
//! - Every task is recovered exactly once, whatever panics, dies or is late.
//! - Every wait has a deadline.
//! - No `unsafe`.
//!
//! # Not here
//! Sizes of chunks (`chunking`), messages (`comm`), simulated time (`simulator`).

mod bag;
mod bundle;
mod map;
mod program;
mod run;

mod master;
mod worker;

mod checkpoint;
mod ledger;
mod network;
mod progress;
mod tool;
#[doc(hidden)]
pub mod tuning_points;
mod worker_pool;

mod element;
mod error;
mod message;
mod options;
mod panics;
mod protocol;
mod report;
mod report_file;

/// Parsers of files that a fault or another version may have made, for tests with arbitrary bytes.
#[doc(hidden)]
pub mod reading {
    /// Returns the number of iterations and the content of a checkpoint with these bytes; `None` if they are not one.
    #[must_use]
    pub fn checkpoint(bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
        crate::checkpoint::of_bytes(bytes)
    }
}

pub use bag::{Bag, bag};
pub use checkpoint::CheckpointError;
pub use comm::{Datatype, Field, FixedWidthNumber, Layout, ValueKind};
pub use element::Element;
#[doc(hidden)]
pub use element::derived;
pub use error::Error;
pub use map::map;
pub use master::{lead, lead_with_pool};
pub use master_worker_derive::Element;
pub use message::{Message, MessageError, Plain, from_bytes, to_bytes};
pub use network::{NetworkFileError, NetworkSource, WorkerNetwork};
pub use option_table::{ArgumentError, Interval};
pub use options::{Cancel, Options, OptionsError, Prefetch, Talk, Workers};
pub use program::{BoxError, Hint, Iteration, Program};
pub use report::{IterationReport, Report, WorkerReport};
pub use report_file::ReportFileError;
pub use run::{Outcome, outcome, run};
pub use worker::serve;
pub use worker_pool::{FixedPool, Forecast, PoolChange, Spawned, WorkerDemand, WorkerPool};
