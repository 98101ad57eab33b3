//! State of a run at a moment.

use run_record::summary::{CallSite, Efficiencies};

/// State of a run at a moment, and rates of its last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time since the first `MPI_Init`, in s.
    pub elapsed_s: f64,
    /// State of the run, in a word or two: `waiting for MPI`, `running`, `ending`.
    pub state: String,
    /// Number of nodes with ranks.
    pub n_nodes: usize,
    /// All ranks, by world and rank.
    pub ranks: Vec<RankNow>,
    /// Efficiencies since the start.
    pub so_far: Efficiencies,
    /// Efficiencies of the last interval.
    pub last_interval: Efficiencies,
    /// Operations of the last interval, in descending order of time.
    pub operations: Vec<OperationRate>,
    /// Call sites since the start, in descending order of time; per-rank times and sizes are not needed.
    pub call_sites: Vec<CallSite>,
    /// Lines written by the program since the last snapshot, oldest first.
    pub output: Vec<String>,
    /// Time that observation adds to an MPI call, in ns.
    pub ns_per_call: f64,
    /// Share of the ranks' time taken by observation, 0..=1.
    pub tool_share: f64,
    /// Number of records that found a ring full.
    pub records_dropped: u64,
}

/// State of a rank in the last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankNow {
    /// Position among the worlds of the run.
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Node on which it runs.
    pub node: String,
    /// Share of the interval that it computed, 0..=1.
    pub useful_share: f64,
    /// Share of the interval spent in MPI, 0..=1.
    pub mpi_share: f64,
    /// Current MPI call; `None` while computing.
    pub call: Option<String>,
    /// Time since it entered that call, or started computing, in s.
    pub since_s: f64,
    /// MPI calls per second.
    pub calls_per_s: f64,
    /// True if the rank has finalized or died.
    pub ended: bool,
}

/// An MPI operation in the last interval, over all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationRate {
    /// MPI name.
    pub name: String,
    /// Class of the operation.
    pub class: String,
    /// Calls per second.
    pub calls_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Share of the ranks' time spent in it, 0..=1.
    pub time_share: f64,
}
