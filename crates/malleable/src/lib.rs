//! A library for iterative programs that change their number of ranks while they run.
//!
//! # Invariants
//! - No `unsafe`.
//!
//! # Not here
//! Which rows move where and where new processes go (`resizing`), calls of MPI (`mpi`), the words of status and
//! record (`resized`).

#![forbid(unsafe_code)]

mod csr;
mod data;
mod decision;
mod leaving;
pub mod manager;
mod moving;
mod options;
mod protocol;
mod record;
mod release;
mod wish;

pub use csr::Csr;
pub use data::{Class, Cut, Data, State};
pub use decision::DecisionError;
pub use options::{ManagerKind, Options, OptionsError, Placement, Redistribution};
pub use record::RecordError;
pub use resized::{Spawn, Strategy};
pub use wish::ControlError;
