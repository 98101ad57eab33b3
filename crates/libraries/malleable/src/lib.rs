//! A library for iterative programs that change their number of ranks while they run.
//!
//! A program registers its data once, by class, and computes in iterations. Its size may change before each of them:
//! rank 0 receives resize requests (a schedule, a control folder, a model), processes are started while the program
//! computes, constant data move meanwhile, and at one iteration, the same for all ranks, variable data move and the new
//! ranks continue.
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
//! let mut run = Malleable::begin(Options::from_args())?;
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
//! [`Malleable`] (`run`), the tasks of rank 0 (`coordinator`), the phases of a resize (`protocol`), how processes are started
//! (`spawn`, `ready`) and leave (`release`), and how the state is saved in a file (`checkpoint`).
//!
//! # Invariants
//! - No `unsafe`, and the process is never ended: a rank that leaves gets [`Step::Left`] back.
//! - A resize that fails leaves the program at its old size, and reports why.
//! - Threads that wait sleep, except inside MPI calls.
//!
//! # Not here
//! Redistribution of rows and placement of new processes (`resize-plan`), MPI calls (`mpi`), the formats of status and
//! record (`resize-api`).

mod bridge;
mod causes;
mod checkpoint;
mod control;
mod coordinator;
mod csr;
mod data;
mod decision;
mod error;
mod fault;
mod launched_ranks;
mod leave_signal;
mod leaving;
pub mod manager;
pub mod moving;
mod options;
mod order;
mod plan;
mod present_ranks;
pub mod probing;
mod protocol;
mod ready;
mod record;
mod release;
mod run;
mod spawn;
mod spawn_error;
mod tags;
mod watchdog;

/// For bindings to other languages: objects of a state whose memory is not Rust's.
pub mod places {
    pub use crate::data::{
        Allocate, Memory, ReplicatedBytes, RowLengths, SharedBuffer, Slot, StableBytes,
    };
}

/// Parsers of files and messages that a fault or another version may have made, for tests with arbitrary bytes.
#[doc(hidden)]
pub mod reading {
    pub use crate::checkpoint::{are_checkpoint, is_checkpoint_index};

    /// Returns whether these bytes, if they are a message between ranks, survive reading and writing.
    #[must_use]
    pub fn read_again(bytes: &[u8]) -> bool {
        use crate::plan::{ProcessStart, ResizePlan};
        use crate::release::ReleaseAddress;
        is_same::<ResizePlan>(bytes)
            && is_same::<(ResizePlan, usize)>(bytes)
            && is_same::<ProcessStart>(bytes)
            && is_same::<ReleaseAddress>(bytes)
    }

    fn is_same<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq>(
        bytes: &[u8],
    ) -> bool {
        let Ok(read) = serde_json::from_slice::<T>(bytes) else { return true };
        let text = serde_json::to_vec(&read).unwrap_or_default();
        serde_json::from_slice::<T>(&text).is_ok_and(|again| again == read)
    }
}

pub use bridge::Bridge;
pub use checkpoint::{CheckpointError, FileFault};
pub use control::ControlError;
pub use csr::Csr;
pub use data::{Class, Cut, Data, State};
pub use decision::DecisionError;
pub use error::Error;
pub use moving::{Method, MoveError};
pub use mpi::{Comm, MpiError};
pub use option_table::{ArgumentError, Interval};
pub use options::{ManagerKind, Options, Placement, Redistribution};
pub use record::RecordError;
pub use resize_api::{Spawn, Strategy};
pub use resize_plan::Partition;
pub use run::{Malleable, Step};
