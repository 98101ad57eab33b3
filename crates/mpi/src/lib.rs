//! The MPI library of the launcher, found at run time, as calls that cannot be misused.
//!
//! [`Mpi::init`] begins MPI, and a [`Comm`] is a group of ranks: messages (`send`, `receive`, `send_receive`, `probe`,
//! `take`) and what all do together (`barrier`, `broadcast`, `allreduce`, `gather`, `allgather`, `allgather_rows`,
//! `alltoallv`). Elements are numbers, or any struct that is plain data (`bytemuck::Pod`); they travel bit by bit.
//!
//! What begins with an `i` goes on in the background: a [`Request`] has the memory meanwhile, and is looked at, or waited for
//! with a deadline. A [`Bundle`] is stretches of several arrays that travel as one message, a [`Window`] memory that others
//! read by themselves.
//!
//! [`Comm::spawn`], ports and [`Comm::join`] lead to other worlds: an [`Intercomm`] is the ranks of both sides.
//!
//! # Invariants
//! - Memory that MPI may still touch is not freed: it belongs to the call, or to its request.
//! - An error of MPI on a communicator of ours is a value, and not the end of the program.
//!
//! # Not here
//! Messages between ranks that may be threads as well, and ranks that come and go one by one: crate `comm`.

mod buffer;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod calls;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod channel;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod comm;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod elements;
mod error;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod exchange;
#[expect(unsafe_code, reason = "an address becomes a function")]
mod functions;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod intercomm;
#[expect(unsafe_code, reason = "a file is kept from other programs")]
pub mod launcher;
mod layout;
#[expect(unsafe_code, reason = "the dynamic linker is asked for the library")]
mod library;
#[expect(unsafe_code, reason = "MPI keeps addresses")]
mod memory;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod message;
pub mod names;
mod number;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod parts;
mod pause;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod pieces;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod request;
#[expect(unsafe_code, reason = "the environment is written to")]
mod settings;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod started;
mod support;
#[expect(unsafe_code, reason = "a process that is stuck is ended")]
mod watch;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod window;
#[expect(unsafe_code, reason = "zeros are plain data")]
mod zeroed;

pub use buffer::{Share, Source};
pub use calls::{Address, Datatype, Found, Line, Mpi, Program, Transfer};
pub use channel::Channel;
pub use comm::Comm;
pub use error::MpiError;
pub use exchange::{Bundle, Exchange, Stretch};
pub use intercomm::{Intercomm, Port, Spawn};
pub use layout::{Field, Kind, Layout};
pub use memory::{Lent, Memory, Own, Shared, Steady};
pub use message::Arrival;
pub use number::{Number, Op};
pub use parts::Parts;
pub use pieces::{Feed, Intake, Part};
pub use request::Request;
pub use settings::{Nodes, Setting};
pub use started::Origin;
pub use support::SpawnSupport;
pub use watch::EXIT_STUCK;
pub use window::{Fetch, Window};
pub use zeroed::zeroed;
