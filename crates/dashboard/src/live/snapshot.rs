//! What is known of a run at one moment.

use run_record::summary::{CallSite, Efficiencies};

/// A run at one moment, and its last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time since the first `MPI_Init`.
    pub elapsed_s: f64,
    /// What the run is doing, in a word or two: `waiting for MPI`, `running`, `ending`.
    pub state: String,
    /// Nodes with ranks.
    pub n_nodes: usize,
    /// Every rank, by world and rank.
    pub ranks: Vec<RankNow>,
    /// Efficiencies since the start.
    pub so_far: Efficiencies,
    /// Efficiencies of the last interval alone.
    pub last_interval: Efficiencies,
    /// Operations of the last interval, most time first.
    pub operations: Vec<OperationRate>,
    /// Call sites since the start, most time first; times by rank and sizes are not needed.
    pub call_sites: Vec<CallSite>,
    /// Lines that the program wrote since the last snapshot, oldest first.
    pub output: Vec<String>,
    /// Nanoseconds that observing adds to an MPI call.
    pub ns_per_call: f64,
    /// Share of the ranks' time that observing took, 0..=1.
    pub tool_share: f64,
    /// Records that found the ring full.
    pub records_dropped: u64,
}

/// A rank in the last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankNow {
    /// Position among the worlds of the run.
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Node it runs on.
    pub node: String,
    /// Share of the interval that it computed, 0..=1.
    pub useful_share: f64,
    /// Share of the interval that it was in MPI, 0..=1.
    pub mpi_share: f64,
    /// The MPI call that it is in now; none while it computes.
    pub call: Option<String>,
    /// How long it has been in that call, or computing.
    pub since_s: f64,
    /// MPI calls a second.
    pub calls_per_s: f64,
    /// It has finalized or died.
    pub ended: bool,
}

/// An MPI operation in the last interval, over all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationRate {
    /// MPI name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Calls a second.
    pub calls_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Share of the ranks' time in it, 0..=1.
    pub time_share: f64,
}
