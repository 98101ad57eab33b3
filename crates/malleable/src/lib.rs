//! A library for iterative programs that change their number of ranks while they run.
//!
//! # Invariants
//! - No `unsafe`.
//!
//! # Not here
//! Which rows move where and where new processes go (`resizing`), calls of MPI (`mpi`), the words of status and
//! record (`resized`).

#![forbid(unsafe_code)]

mod bridge;
mod change;
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
mod wish;
mod world;

/// For libraries that bring this one to other languages: places of a state whose memory is not Rust's.
pub mod places {
    pub use crate::data::{Allocate, Lent, Memory, Slot, Words};
}

pub use bridge::Bridge;
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
