//! A library for iterative programs that change their number of ranks while they run.
//!
//! A program registers its data once, by class, and computes in iterations. Before each of them its size may change: rank 0
//! hears wishes (a schedule, a control folder, a model), processes are started while the program computes, constant data
//! travel meanwhile, and at one iteration, the same for all, variable data move and the new ranks go on.
//!
//! ```no_run
//! use malleable::{Comm, Cut, Data, Error, Malleable, Options, State, Step};
//!
//! #[derive(Default)]
//! struct Sum {
//!     numbers: Vec<f64>,
//! }
//!
//! impl State for Sum {
//!     fn data<'a>(&'a mut self, data: &mut Data<'a>) {
//!         data.rows_of(1000, Cut::Even);
//!         data.rows("numbers", &mut self.numbers);
//!     }
//! }
//!
//! let mut run = Malleable::begin(Options::from_args()?)?;
//! let mut sum = Sum::default();
//! if !run.is_new() {
//!     let (rank, size) = (run.comm().rank() as usize, run.comm().size() as usize);
//!     sum.numbers = vec![1.0; 1000 / size + usize::from(rank < 1000 % size)];
//! }
//! let step = run.iterate(&mut sum, |sum, iteration, _comm: &Comm| {
//!     sum.numbers.iter_mut().for_each(|number| *number *= 0.5);
//!     Ok::<_, Error>(if iteration < 99 { Step::Continue } else { Step::Done })
//! })?;
//! // A rank that has left has nothing to print: `step` is `Step::Left` there.
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where to start reading
//! [`Malleable`] (`run`), what rank 0 does (`head`), the phases of a resize (`protocol`), how processes come (`spawn`, `ready`)
//! and go (`release`), and how the state is kept in a file (`checkpoint`).
//!
//! # Invariants
//! - No `unsafe`, and no end of the process: who leaves gets [`Step::Left`] back.
//! - A resize that fails leaves the program at its old size, and says why.
//! - What waits sleeps, but in calls of MPI.
//!
//! # Not here
//! Which rows move where and where new processes go (`resizing`), calls of MPI (`mpi`), the words of status and
//! record (`resized`).

#![forbid(unsafe_code)]

mod bridge;
mod change;
mod checkpoint;
mod csr;
mod data;
mod decision;
mod emptying;
mod error;
mod fault;
mod head;
mod leaving;
pub mod manager;
pub mod moving;
mod options;
mod order;
mod parked;
pub mod probing;
mod protocol;
mod ready;
mod record;
mod release;
mod run;
mod spawn;
mod tags;
mod wish;
mod world;

/// For libraries that bring this one to other languages: places of a state whose memory is not Rust's.
pub mod places {
    pub use crate::data::{Allocate, Lent, Memory, Slot, Steady, Words};
}

pub use bridge::Bridge;
pub use checkpoint::CheckpointError;
pub use csr::Csr;
pub use data::{Class, Cut, Data, State};
pub use decision::DecisionError;
pub use error::Error;
pub use moving::{Method, MoveError};
pub use mpi::Comm;
pub use options::{ManagerKind, Options, OptionsError, Placement, Redistribution};
pub use record::RecordError;
pub use resized::{Spawn, Strategy};
pub use run::{Malleable, Step};
pub use wish::ControlError;
