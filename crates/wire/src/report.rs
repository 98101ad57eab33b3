//! Everything known of one observed process at one moment.

use events::{Clock, CommunicatorId, Peer, ProcessKey, Rank, RegionCounters, Ticks, WorldId};
use serde::{Deserialize, Serialize};

/// One observed process as its collector saw it last; every report replaces the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that a segment tells by itself")]
pub struct ProcessReport {
    /// Which process on its node.
    pub key: ProcessKey,
    /// The collector's name of the node; unique in the run, unlike [`ProcessReport::host`].
    pub node: String,
    /// Host name as the process sees it.
    pub host: String,
    /// Its `MPI_COMM_WORLD`.
    pub world: WorldId,
    /// Rank in its world.
    pub rank: Rank,
    /// Ranks in its world.
    pub size: u32,
    /// It was spawned by other MPI processes.
    pub spawned: bool,
    /// It reached `MPI_Finalize`.
    pub finalizing: bool,
    /// It was left before its end by who had attached to it.
    pub left: bool,
    /// The process no longer exists, or was left.
    pub gone: bool,
    /// Ticks to time on its node. The second point is the collector's own until `MPI_Finalize`.
    pub clock: Clock,
    /// When this report was taken; for a process that is gone, when that was noticed.
    pub now: Ticks,
    /// When `MPI_Init` returned.
    pub init_end: Ticks,
    /// When `MPI_Finalize` was called.
    pub finalize_begin: Option<Ticks>,
    /// Nanoseconds that observing one call costs, measured in the process at its start.
    pub cost_ns_per_call: f64,
    /// Threads that found no room and were not observed.
    pub threads_refused: u32,
    /// [`ThreadReport::idx`] of the thread that called `MPI_Init`.
    pub main_thread: u32,
    /// Shared memory reserved.
    pub reserved_bytes: u64,
    /// Version text of the MPI library.
    pub library: String,
    /// Path of the program.
    pub program: String,
    /// Executable mappings, lines of `/proc/PID/maps`. Empty on the way to the analyzer when they are
    /// the ones reported last.
    pub modules: String,
    /// Communicators defined so far.
    pub communicators: Vec<CommunicatorReport>,
    /// Threads that called MPI.
    pub threads: Vec<ThreadReport>,
}

/// A communicator and who is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicatorReport {
    /// Its number in call records.
    pub id: CommunicatorId,
    /// World ranks in the order of the communicator's ranks; `u32::MAX` for one of another world.
    pub world_ranks: Vec<u32>,
}

/// One thread that called MPI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Position in the process's segment.
    pub idx: u32,
    /// Kernel's id of the thread.
    pub tid: u32,
    /// Counters by region; calls that found no room are in the entries of address 0, by operation.
    pub regions: Vec<RegionCounters>,
    /// Traffic by world rank, only with ranks that exchanged something.
    pub peers: Vec<(u32, Peer)>,
    /// The MPI call in which it is (or was when the process ended).
    pub in_call: Option<InCall>,
    /// When it last entered or left MPI.
    pub since: Ticks,
    /// Calls counted by operation only, because the region table was full.
    pub calls_without_region: u64,
    /// Records written to its ring.
    pub n_written: u64,
    /// Records that found its ring full.
    pub n_dropped: u64,
}

/// The call in which a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InCall {
    /// Place of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Return address: the call site.
    pub address: u64,
}
