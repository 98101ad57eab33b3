//! Vocabulary of a measurement: rank and process, place in the program, MPI operation, time, amount.
//!
//! All other crates use these types; the types have no behavior beyond their own arithmetic.
//!
//! # Invariants
//! - Pure: no clock, file, socket, thread or environment (I1).
//! - [`CallRecord`] has the same 64 bytes in shared memory, on the wire and in a spool file.
//!
//! # Not here
//! The table of MPI operations (`mpi-abi`), the layout of these types in shared memory (`ring`),
//! their encoding for the network (`wire`), and the record of a run (`run-record`).

pub mod call;
pub mod decoding;
pub mod function;
pub mod identity;
pub mod lever;
pub mod memory_map;
pub mod moments;
pub mod openmp;
pub mod size_histogram;
pub mod source;
pub mod statistics;
pub mod tuning;
pub mod usage;
pub mod value;

pub use call::{CallRecord, Event, RecordKind};
pub use function::{ActionRecord, EventRecord, FunctionKind, ProbePoint, WatchedCall};
pub use identity::{Clock, CommunicatorId, ProcessKey, Rank, Ticks, WorldId};
pub use lever::Lever;
pub use memory_map::{CodeAddress, MapsProblem, ModuleMap};
pub use moments::Moments;
pub use mpi_abi::{Operation, OperationId};
pub use openmp::OpenMpCounters;
pub use size_histogram::SizeHistogram;
pub use source::SourceLocation;
pub use statistics::{
    Awaited, AwaitedRequest, CollectiveCalls, CommunicatorKey, InCall, Peer, RegionCounters,
    SampledTime,
};
pub use usage::{CoreSet, Cores, Usage};
pub use value::{Value, ValueType};
