//! State of a monitored process at one moment.

use events::{
    Awaited, Clock, CollectiveCalls, CommunicatorId, Cores, InCall, OpenMpCounters, Peer,
    ProcessKey, Rank, RegionCounters, Ticks, Usage, WorldId,
};
use serde::{Deserialize, Serialize};

/// Latest state of a monitored process as its collector saw it; every report replaces the previous one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that a segment tells by itself")]
pub struct ProcessReport {
    /// Process on its node.
    pub key: ProcessKey,
    /// The collector's name of the node; unique in the run, unlike [`ProcessReport::host`].
    pub node: String,
    /// Host name as the process sees it.
    pub host: String,
    /// `MPI_COMM_WORLD` of the process.
    pub world: WorldId,
    /// Rank in its world.
    pub rank: Rank,
    /// Ranks in its world.
    pub size: u32,
    /// Whether the process was spawned by other MPI processes.
    pub spawned: bool,
    /// Whether the process reached `MPI_Finalize`.
    pub finalizing: bool,
    /// Whether an attached run detached from the process before its end.
    pub left: bool,
    /// Whether the process no longer exists, or was detached from.
    pub gone: bool,
    /// Map from ticks to time on the node. The second point is the collector's own until `MPI_Finalize`.
    pub clock: Clock,
    /// Time of this report; for a process that is gone, the time at which the collector noticed.
    pub now: Ticks,
    /// Time at which `MPI_Init` returned.
    pub init_end: Ticks,
    /// Time at which `MPI_Finalize` was called.
    pub finalize_begin: Option<Ticks>,
    /// Cost of monitoring one call in ns, measured in the process at its start.
    pub cost_ns_per_call: f64,
    /// Number of threads not monitored for lack of room.
    pub threads_refused: u32,
    /// [`ThreadReport::idx`] of the thread that called `MPI_Init`.
    pub main_thread: u32,
    /// Shared memory reserved, in bytes.
    pub reserved_bytes: u64,
    /// Version text of the MPI library.
    pub library: String,
    /// Path of the program.
    pub program: String,
    /// Executable mappings, lines of `/proc/PID/maps`. Sent empty when they are those of the report before.
    pub modules: String,
    /// Communicators defined so far.
    pub communicators: Vec<CommunicatorReport>,
    /// Collective calls by communicator.
    pub collectives: Vec<CollectiveCalls>,
    /// Threads that called MPI.
    pub threads: Vec<ThreadReport>,
    /// What the process used since `MPI_Init` returned; all 0 where the system does not tell.
    pub usage: Usage,
    /// Cores that the process may use.
    pub cores: Cores,
    /// OpenMP regions that threads met outside of others.
    pub openmp: Vec<OpenMpCounters>,
    /// Executions of OpenMP regions not counted for lack of room.
    pub openmp_uncounted: u32,
}

/// Communicator and its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicatorReport {
    /// Number of the communicator in call records.
    pub id: CommunicatorId,
    /// World ranks in the order of the communicator's ranks; `u32::MAX` for a rank of another world.
    pub world_ranks: Vec<u32>,
}

/// State of a thread in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadState {
    /// It runs or is ready to run.
    Running,
    /// It waits for something.
    Sleeping,
    /// A signal or a debugger stopped it.
    Stopped,
}

/// One thread that called MPI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Index in the process's segment.
    pub idx: u32,
    /// Kernel thread id.
    pub tid: u32,
    /// Counters by region; calls without a region of their own are counted in entries of address 0, by operation.
    pub regions: Vec<RegionCounters>,
    /// Traffic by world rank; ranks without traffic are omitted.
    pub peers: Vec<(u32, Peer)>,
    /// MPI call that the thread is in (or was in when the process ended).
    pub in_call: Option<InCall>,
    /// What that call waits for.
    pub awaited: Option<Awaited>,
    /// MPI call that the thread returned from last, while it is outside MPI.
    pub last_call: Option<InCall>,
    /// What the kernel says; known while it is outside MPI, or in one call for long.
    pub state: Option<ThreadState>,
    /// Time at which the thread last entered or left MPI.
    pub since: Ticks,
    /// Calls counted by operation only, because the region table was full.
    pub calls_without_region: u64,
    /// Number of records written to the thread's ring.
    pub n_written: u64,
    /// Number of records dropped because the ring was full.
    pub n_dropped: u64,
}
