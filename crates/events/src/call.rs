//! One MPI call as it is recorded in a trace: 64 bytes, one cache line.

use bytemuck::{Pod, Zeroable};

/// One MPI call of one thread, or the continuation of the call before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CallRecord {
    /// Time-stamp counter when the program entered the operation.
    pub enter_ticks: u64,
    /// Time-stamp counter when it returned.
    pub exit_ticks: u64,
    /// Return address in the program: the call site. 0 when it is not known.
    pub address: u64,
    /// Bytes moved, as `mpi-abi` defines them for the operation.
    pub bytes: u64,
    /// The request made (non-blocking start) or completed (wait, test): its handle, 0 for none.
    pub request: u64,
    /// World rank of the other side, or of the root of a collective; negative values are in [`NO_PEER`]
    /// and [`OUTSIDE_WORLD`].
    pub peer: i32,
    /// Message tag; -1 where the operation has none.
    pub tag: i32,
    /// [`crate::CommunicatorId`]; 0 is `MPI_COMM_WORLD`.
    pub communicator: u32,
    /// Place of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// [`RecordKind`] as a number.
    pub kind: u16,
    /// More request handles of a completion that waits for several (kind `Requests`), or 0.
    pub more: u64,
}

const _: () = assert!(size_of::<CallRecord>() == 64);

/// No other rank takes part: a barrier, a wait, `MPI_PROC_NULL`.
pub const NO_PEER: i32 = -1;
/// The peer is not in this rank's `MPI_COMM_WORLD` (a spawned child, a parent, a connected job).
pub const OUTSIDE_WORLD: i32 = -2;

/// What a [`CallRecord`] says.
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
    /// The kind with this number, if there is one.
    pub fn from_number(number: u16) -> Option<Self> {
        [Self::Call, Self::ReceiveHalf, Self::Requests].into_iter().find(|k| *k as u16 == number)
    }
}
