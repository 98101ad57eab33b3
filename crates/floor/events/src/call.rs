//! One MPI call: its trace record of 64 bytes, one cache line, and the event that is made of it.

use bytemuck::{Pod, Zeroable};
use mpi_abi::OperationId;

/// One MPI call of one thread, or the continuation of the call before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CallRecord {
    /// Time-stamp counter at the entry of the operation.
    pub enter_ticks: u64,
    /// Time-stamp counter at its return.
    pub exit_ticks: u64,
    /// Call site: return address in the program; 0 if unknown.
    pub address: u64,
    /// Bytes moved, as `mpi-abi` defines them for the operation.
    pub bytes: u64,
    /// Handle of the request started (non-blocking call) or completed (wait, test); 0 for none.
    pub request: u64,
    /// World rank of the other side, or of the root of a collective; negative: [`NO_PEER`] or [`OUTSIDE_WORLD`].
    pub peer: i32,
    /// Message tag; -1 where the operation has none.
    pub tag: i32,
    /// [`crate::CommunicatorId`]; 0 is `MPI_COMM_WORLD`.
    pub communicator: u32,
    /// Index of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// [`RecordKind`] as a number.
    pub kind: u16,
    /// Second completed request of a `Requests` record, or 0.
    pub more: u64,
}

const _: () = assert!(size_of::<CallRecord>() == 64);

/// Peer of a call without another rank: a barrier, a wait, `MPI_PROC_NULL`.
pub const NO_PEER: i32 = -1;
/// Peer outside this rank's `MPI_COMM_WORLD` (a spawned child, a parent, a connected job).
pub const OUTSIDE_WORLD: i32 = -2;
/// Source of a receive that takes messages from any rank, in what a call waits for; records have [`NO_PEER`].
pub const ANY_PEER: i32 = -3;

/// Meaning of a [`CallRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordKind {
    /// A whole call.
    Call = 0,
    /// The receiving half of the send-receive recorded just before: `peer`, `tag` and `bytes` are the
    /// message received.
    ReceiveHalf = 1,
    /// Requests completed by the call recorded just before: `request` and, when not 0, `more`.
    Requests = 2,
}

impl RecordKind {
    /// Returns the kind with this number, if there is one.
    pub fn from_number(number: u16) -> Option<Self> {
        [Self::Call, Self::ReceiveHalf, Self::Requests].into_iter().find(|k| *k as u16 == number)
    }
}

/// A [`CallRecord`] with ranks instead of processes, and times instead of ticks.
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
    /// World rank of the other side or of the root; [`NO_PEER`] or [`OUTSIDE_WORLD`].
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
