//! `summary.json`: a run on one page, for people's scripts and for our own reports.
//!
//! Times are seconds, sizes bytes. Fields are added over time and never change their meaning; a change of
//! meaning raises [`FORMAT_VERSION`].

use crate::function_sums::FunctionSums;
use crate::function_totals::FunctionTotals;
use crate::tuning::TuningSummary;
use dealt::Dealt;
use resized::Resize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the record's layout and of the meaning of its fields.
pub const FORMAT_VERSION: u32 = 1;

/// A run on one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of Sintonia that wrote the record.
    pub sintonia_version: String,
    /// The command after `--`, as it was typed.
    pub command: Vec<String>,
    /// When the command was started, in seconds since 1970.
    pub started_s: f64,
    /// How the command ended.
    pub outcome: Outcome,
    /// Longest time of a rank from the end of `MPI_Init` to the start of `MPI_Finalize` (or its end).
    pub elapsed_s: f64,
    /// Time from starting the command to its end.
    pub wall_s: f64,
    /// Ranks seen, over all worlds.
    pub n_ranks: usize,
    /// Nodes with ranks.
    pub n_nodes: usize,
    /// The MPI library as it calls itself, one line; empty when no MPI process was seen.
    pub mpi: String,
    /// Efficiencies of the run.
    pub pop: Efficiencies,
    /// Totals over ranks by MPI name (`MPI_Send`).
    pub operations: BTreeMap<String, OperationTotals>,
    /// Call sites, most MPI time first.
    pub call_sites: Vec<CallSite>,
    /// Regions, most time (computation and MPI) first.
    pub regions: Vec<Region>,
    /// Every rank, ordered by world and rank.
    pub ranks: Vec<RankTotals>,
    /// Worlds (`MPI_COMM_WORLD`s) in the order in which they started.
    pub worlds: Vec<World>,
    /// Point-to-point and one-sided traffic between ranks of one world: only pairs that exchanged something.
    pub traffic: Vec<Traffic>,
    /// What the numbers mean, most important first.
    pub findings: Vec<Finding>,
    /// What observing cost and what it lost.
    pub tool: ToolCost,
    /// Functions that were counted and timed (`--probe`), most time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionTotals>,
    /// Measurement points of a description whose passages were added up on the nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub function_sums: Vec<FunctionSums>,
    /// What tunlets saw, decided and did, when there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningSummary>,
    /// What became of the work that a program of the master/worker library dealt out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealt: Option<Dealt>,
    /// How a malleable program changed its number of ranks, in the order in which that ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resizes: Vec<Resize>,
}

/// How the observed command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Exit status of the command, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended it, if one did.
    pub signal: Option<i32>,
    /// False while the run goes on, or when Sintonia itself was ended before it.
    pub complete: bool,
    /// The program went on when the watch ended (`sintonia attach`).
    pub goes_on: bool,
}

/// Efficiencies of the POP methodology with the definitions of TALP; each lies in 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efficiencies {
    /// Average useful time over elapsed time.
    pub parallel_efficiency: f64,
    /// The share of it that MPI is answerable for; equal while only MPI is observed.
    pub mpi_parallel_efficiency: f64,
    /// Longest useful time over elapsed time.
    pub communication_efficiency: f64,
    /// Average over longest useful time; `load_balance_in * load_balance_out`.
    pub load_balance: f64,
    /// Load balance between the ranks of a node.
    pub load_balance_in: f64,
    /// Load balance between nodes.
    pub load_balance_out: f64,
    /// Longest useful time over the time on an ideal network (traced runs only).
    pub serialization_efficiency: Option<f64>,
    /// Time on an ideal network over elapsed time (traced runs only).
    pub transfer_efficiency: Option<f64>,
}

/// One MPI operation over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationTotals {
    /// Calls.
    pub calls: u64,
    /// Bytes moved, as the guide defines them by operation.
    pub bytes: u64,
    /// Time inside the calls.
    pub time_s: f64,
    /// Class of the operation (`point-to-point`, `collective`, ...).
    pub class: String,
    /// Calls by message size: `[smallest size in the bin, calls]`.
    pub sizes: Vec<(u64, u64)>,
}

/// A place in the program that calls MPI, over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSite {
    /// Number by which regions name it.
    pub id: usize,
    /// MPI name of the operation called there.
    pub operation: String,
    /// Where it is.
    pub place: Place,
    /// Calls.
    pub calls: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time inside the calls.
    pub time_s: f64,
    /// Longest single call.
    pub time_max_s: f64,
    /// Time inside the calls by rank, in the order of [`Summary::ranks`].
    pub time_by_rank_s: Vec<f64>,
    /// Calls by message size: `[smallest size in the bin, calls]`.
    pub sizes: Vec<(u64, u64)>,
}

/// A place in a program, as far as its debug information tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Function, demangled; empty when unknown.
    pub function: String,
    /// Source file as the compiler recorded it; empty when unknown.
    pub file: String,
    /// Line, 0 when unknown.
    pub line: u32,
    /// Program or library that holds it.
    pub module: String,
    /// Offset of the return address in the module's file.
    pub offset: u64,
}

/// The computation between two MPI calls, together with the call that ends it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Region {
    /// [`CallSite::id`] of the call before it; none at the start of a thread.
    pub from: Option<usize>,
    /// [`CallSite::id`] of the call that ends it.
    pub to: Option<usize>,
    /// Times it was passed, over ranks and threads.
    pub calls: u64,
    /// Time of computation.
    pub compute_s: f64,
    /// Time inside the MPI call.
    pub mpi_s: f64,
    /// Bytes moved by the MPI call.
    pub bytes: u64,
    /// Computation by rank, in the order of [`Summary::ranks`].
    pub compute_by_rank_s: Vec<f64>,
}

/// One rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankTotals {
    /// Position in [`Summary::worlds`].
    pub world: usize,
    /// Rank in its world.
    pub rank: u32,
    /// Node it ran on.
    pub node: String,
    /// Process id there.
    pub pid: u32,
    /// Threads that called MPI; a thread that starts after another ended may take its place.
    pub n_threads: usize,
    /// From the end of `MPI_Init` to the start of `MPI_Finalize`, or to its end.
    pub elapsed_s: f64,
    /// Of it outside MPI, in the thread that called `MPI_Init`.
    pub useful_s: f64,
    /// Of it inside MPI, in that thread.
    pub mpi_s: f64,
    /// Calls over all its threads.
    pub calls: u64,
    /// Bytes over all its threads.
    pub bytes: u64,
    /// `finalized`, `running`, `detached` (it went on), or `ended without MPI_Finalize`.
    pub end: String,
    /// The MPI call in which it was when it was last seen, if it did not finalize.
    pub last_seen_in: Option<String>,
}

/// One `MPI_COMM_WORLD`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct World {
    /// Ranks seen of it.
    pub n_ranks: usize,
    /// Ranks it has.
    pub size: usize,
    /// Program its first rank runs.
    pub program: String,
    /// Start, in seconds after [`Summary::started_s`].
    pub start_s: f64,
    /// Longest time of one of its ranks.
    pub elapsed_s: f64,
    /// Its own efficiencies.
    pub pop: Efficiencies,
}

/// Traffic from one rank to another of the same world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Position in [`Summary::worlds`].
    pub world: usize,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A sentence about what limits the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// [`CallSite::id`] of the place to look at.
    pub call_site: Option<usize>,
    /// Share of the ranks' time at stake, 0..=1.
    pub share: f64,
}

/// What observing cost and what it lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCost {
    /// Nanoseconds added to an MPI call, measured in each rank at its start; the median over ranks.
    pub ns_per_call: f64,
    /// MPI calls seen.
    pub calls: u64,
    /// `ns_per_call * calls` over the ranks' elapsed time, 0..=1.
    pub share_of_time: f64,
    /// Shared memory used, over nodes.
    pub shared_memory_bytes: u64,
    /// Records in the event file; 0 without `--trace`.
    pub records: u64,
    /// Records that found the ring full.
    pub records_dropped: u64,
    /// Calls counted by operation only, because the region table was full.
    pub calls_without_region: u64,
    /// Calls of threads that found no room and were not counted.
    pub threads_refused: u64,
    /// Sentences about what could not be observed, and what to do.
    pub warnings: Vec<String>,
}
