//! The words of a measurement: who measured, where in the program, which MPI operation, when, how much.
//!
//! Every other crate speaks in these types; they carry no behavior beyond their own arithmetic.
//!
//! # Invariants
//! - Pure: no clock, file, socket, thread or environment (I1).
//! - [`CallRecord`] has the same 64 bytes in shared memory, on the wire and in a spool file.
//!
//! # Not here
//! The table of MPI operations (`mpi-abi`), the place of these words in shared memory (`ring`), their
//! encoding for the network (`wire`), and what is kept of a run (`run-record`).

pub mod call;
pub mod function;
pub mod identity;
pub mod moments;
pub mod size_histogram;
pub mod statistics;
pub mod value;

pub use call::{CallRecord, RecordKind};
pub use function::{ActionRecord, EventRecord, FunctionKind, Place};
pub use identity::{Clock, CommunicatorId, ProcessKey, Rank, Ticks, WorldId};
pub use moments::Moments;
pub use mpi_abi::{Operation, OperationId};
pub use size_histogram::SizeHistogram;
pub use statistics::{Peer, RegionCounters};
pub use value::{Value, ValueType};
