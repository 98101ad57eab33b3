//! The MPI library of the launcher, found at run time, behind a safe interface.
//!
//! [`Mpi::init`] initializes MPI, and a [`Comm`] is a group of ranks: messages (`send`, `receive`, `send_receive`, `probe`,
//! `take`) and collective operations (`barrier`, `broadcast`, `allreduce`, `gather`, `allgather`, `allgather_rows`).
//! Elements are numbers, or any struct that is plain data (`bytemuck::Pod`); they travel bit by bit.
//!
//! Methods whose names begin with `i` or `start` run in the background: a [`Request`] or an [`Exchange`] owns the memory
//! meanwhile. A request is tested, or waited for with a deadline; an exchange is asked until it is complete. A [`Bundle`]
//! is stretches of several arrays that all ranks exchange, one message between any two; a [`Window`] is memory that
//! others read by one-sided operations.
//!
//! [`Comm::spawn`], ports and [`Comm::join`] connect with other worlds: an [`Intercomm`] holds the ranks of both sides.
//!
//! # Invariants
//! - Memory that MPI may still access is not freed: it belongs to the call, or to its request.
//! - An MPI error on a communicator of ours is an error value; it does not abort the program.
//!
//! # Not here
//! Messages between ranks that may also be threads, and ranks that are added and leave one by one: crate `comm`.

#[expect(unsafe_code, reason = "calls into the MPI library")]
mod calls;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod comm;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod comm_base;
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
pub mod names;
mod number;
mod pause;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod pieces;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod request;
#[expect(unsafe_code, reason = "the environment is written to")]
mod settings;
mod support;
#[expect(unsafe_code, reason = "a process that is stuck is ended")]
mod watch;
#[expect(unsafe_code, reason = "calls into the MPI library")]
mod window;

pub use calls::{
    Address, ArrivedMessage, CommHandle, Datatype, FoundMessage, Mpi, Spawn, Transfer,
};
pub use comm::Comm;
pub use comm_base::CommBase;
pub use error::MpiError;
pub use exchange::{Bundle, ByteRange, Exchange};
pub use intercomm::{Intercomm, Port};
pub use layout::{Field, Layout, ValueKind};
pub use memory::{ArcBuffer, Memory, SharedBuffer, StableBytes, VecBuffer, zeroed};
pub use number::{Number, Op};
pub use pause::Pause;
pub use pieces::{ArrayPiece, PieceReceiver, PieceSender, PieceTransfers};
pub use request::Request;
pub use settings::Nodes;
pub use support::SpawnSupport;
pub use watch::EXIT_STUCK;
pub use window::{Fetch, Window};
