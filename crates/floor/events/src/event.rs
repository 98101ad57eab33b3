//! An MPI call with its place in the run: what a record becomes once processes are ranks and ticks are times.

use crate::call::RecordKind;
use mpi_abi::OperationId;

/// One MPI call of one thread, or the continuation of the call before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index among the worlds of the run.
    pub world: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Thread of the rank; 0 is the thread that initialized MPI.
    pub thread: u32,
    /// Start of the call, in ns since the start of the run.
    pub start_ns: u64,
    /// Return of the call, in ns since the same time.
    pub end_ns: u64,
    /// The operation.
    pub operation: OperationId,
    /// Number of the call site in the summary of the run, if known.
    pub call_site: Option<u32>,
    /// World rank of the other side or of the root; [`NO_PEER`](crate::call::NO_PEER) or
    /// [`OUTSIDE_WORLD`](crate::call::OUTSIDE_WORLD).
    pub peer: i32,
    /// Message tag; -1 where the operation has none.
    pub tag: i32,
    /// [`CommunicatorId`](crate::CommunicatorId) as a number; 0 is `MPI_COMM_WORLD`.
    pub communicator: u32,
    /// Bytes moved.
    pub bytes: u64,
    /// Handle of the request started or completed; 0 for none.
    pub request: u64,
    /// Handle of one more completed request (kind `Requests`), or 0.
    pub more: u64,
    /// Kind of the row.
    pub kind: RecordKind,
}
