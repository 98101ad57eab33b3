//! The MPI library of the launcher, found at run time, as calls that cannot be misused.
//!
//! # Invariants
//! - Memory that MPI may still touch is not freed: it belongs to the call, or to its request.
//! - An error of MPI on a communicator of ours is a value, and not the end of the program.
//!
//! # Not here
//! Messages between ranks that may be threads as well, and ranks that come and go one by one: crate `comm`.

#[expect(unsafe_code, reason = "calls into the MPI library")]
mod calls;
mod error;
#[expect(unsafe_code, reason = "an address becomes a function")]
mod functions;
mod layout;
#[expect(unsafe_code, reason = "the dynamic linker is asked for the library")]
mod library;
pub mod names;
mod support;
#[expect(unsafe_code, reason = "a process that is stuck is ended")]
mod watch;

pub use calls::{Address, Datatype, Found, Line, Mpi, Program, Transfer};
pub use error::MpiError;
pub use layout::{Field, Kind, Layout};
pub use support::SpawnSupport;
pub use watch::EXIT_STUCK;
