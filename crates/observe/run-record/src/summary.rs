//! `summary.json`: summary of a run, for users' scripts and for our own reports.
//!
//! Times are seconds, sizes bytes. Fields are added over time and never change their meaning; a change of
//! meaning raises [`FORMAT_VERSION`].

mod delays;
mod function_totals;
mod hang;
mod openmp;
mod sampling;
mod usage;

use crate::tuning::TuningSummary;
use dealing_report::DealingReport;
pub use events::SourceLocation;
use resize_api::Resize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use delays::{Delays, Doing, RankTime};
pub use function_totals::{FunctionSums, FunctionTimes, FunctionTotals};
pub use hang::{Hang, WaitingRanks};
pub use openmp::OpenMpRegion;
pub use sampling::{SampledCaller, SampledFunction, Sampling};
pub use usage::{FileTotals, NodeUsage, RankUsage};

/// Version of the record's layout and of the meaning of its fields.
pub const FORMAT_VERSION: u32 = 1;

/// Summary of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of Sintonia that wrote the record.
    pub sintonia_version: String,
    /// Command after `--`, as typed.
    pub command: Vec<String>,
    /// Start time of the command, in seconds since 1970.
    pub started_s: f64,
    /// End of the command.
    pub outcome: CommandOutcome,
    /// Longest time of a rank from the end of `MPI_Init` to the start of `MPI_Finalize` (or the rank's end), in s.
    pub elapsed_s: f64,
    /// Time from the start of the command to its end, in s.
    pub wall_s: f64,
    /// Number of monitored ranks, over all worlds.
    pub n_ranks: usize,
    /// Number of nodes with ranks.
    pub n_nodes: usize,
    /// One-line version text of the MPI library; empty when no MPI process was seen.
    pub mpi: String,
    /// Efficiencies of the run.
    pub pop: Efficiencies,
    /// Totals over ranks by MPI name (`MPI_Send`).
    pub operations: BTreeMap<String, OperationTotals>,
    /// Call sites, most MPI time first.
    pub call_sites: Vec<CallSite>,
    /// Regions, most time (computation and MPI) first.
    pub regions: Vec<Region>,
    /// OpenMP regions, most time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub openmp_regions: Vec<OpenMpRegion>,
    /// Every rank, ordered by world and rank.
    pub ranks: Vec<RankTotals>,
    /// Nodes with ranks, and their cores; empty where the system does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeUsage>,
    /// Worlds (`MPI_COMM_WORLD`s) in the order in which they started.
    pub worlds: Vec<World>,
    /// Point-to-point and one-sided traffic between ranks of one world; pairs without traffic are omitted.
    pub traffic: Vec<Traffic>,
    /// Conclusions drawn from the numbers, most important first.
    pub findings: Vec<Finding>,
    /// Explanation of ranks that waited when the command was ended, if they had waited for long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hang: Option<Hang>,
    /// Cost of monitoring, and losses.
    pub tool: ToolCost,
    /// Functions counted and timed (`--probe`), most time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionTotals>,
    /// Measurement points of a description whose passages were summed on the nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub function_sums: Vec<FunctionSums>,
    /// Causes of waiting and the critical path (traced runs only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<Delays>,
    /// Sums over samples of the call paths, if there were any or the reason why not is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Observations, decisions and actions of tunlets, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningSummary>,
    /// Dealt work, as reported by a program of the master/worker library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealt: Option<DealingReport>,
    /// Changes of a malleable program's number of ranks, in the order in which they ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resizes: Vec<Resize>,
}

/// End of the monitored command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandOutcome {
    /// Exit status of the command, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended the command, if one did.
    pub signal: Option<i32>,
    /// False while the run continues, or when Sintonia itself was ended before the command.
    pub complete: bool,
    /// Whether the program continued when monitoring ended (`sintonia attach`).
    pub goes_on: bool,
}

/// Efficiencies of the POP methodology with the definitions of TALP; each lies in 0..=1.
///
/// Useful time is that of computing. Where [`Efficiencies::core_availability`] is known, it is only the part of it in
/// which the rank did not wait for a core, and `parallel = load balance * communication * core availability`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efficiencies {
    /// Average useful time over elapsed time, of all processors: with OpenMP, those of each rank's largest team of threads.
    pub parallel_efficiency: f64,
    /// Part of the parallel efficiency attributed to MPI: load balance times communication efficiency.
    pub mpi_parallel_efficiency: f64,
    /// Share of the ranks' time in which they did not wait for a core; `None` where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_availability: Option<f64>,
    /// Longest useful time over elapsed time, or over the part of it with a core.
    pub communication_efficiency: f64,
    /// Average over longest time outside MPI; equals `load_balance_in * load_balance_out`.
    pub load_balance: f64,
    /// Load balance between the ranks of a node.
    pub load_balance_in: f64,
    /// Load balance between nodes.
    pub load_balance_out: f64,
    /// Longest useful time over the time on an ideal network (traced runs only).
    pub serialization_efficiency: Option<f64>,
    /// Time on an ideal network over elapsed time (traced runs only).
    pub transfer_efficiency: Option<f64>,
    /// Part of the parallel efficiency attributed to OpenMP; the product of the next three. Only with OpenMP regions.
    pub openmp_parallel_efficiency: Option<f64>,
    /// Lost to threads that wait for others of their team.
    pub openmp_load_balance: Option<f64>,
    /// Lost to threads that have not begun a region that was started.
    pub openmp_scheduling_efficiency: Option<f64>,
    /// Lost to computation outside of parallel regions.
    pub openmp_serialization_efficiency: Option<f64>,
}

/// Totals of one MPI operation over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationTotals {
    /// Number of calls.
    pub calls: u64,
    /// Bytes moved, as the guide defines them by operation.
    pub bytes: u64,
    /// Time inside the calls, in s.
    pub time_s: f64,
    /// Class of the operation (`point-to-point`, `collective`, ...).
    pub class: String,
    /// Calls by message size: `[smallest size in the bin, calls]`.
    pub sizes: Vec<(u64, u64)>,
}

/// Place in the program that calls MPI, with totals over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSite {
    /// Number by which regions refer to the call site.
    pub id: usize,
    /// MPI name of the operation called there.
    pub operation: String,
    /// Location in the program.
    pub place: SourceLocation,
    /// Number of calls.
    pub calls: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time inside the calls, in s.
    pub time_s: f64,
    /// Longest single call, in s.
    pub time_max_s: f64,
    /// Time inside the calls by rank, in the order of [`Summary::ranks`].
    pub time_by_rank_s: Vec<f64>,
    /// Calls by message size: `[smallest size in the bin, calls]`.
    pub sizes: Vec<(u64, u64)>,
}

/// The computation between two MPI calls, together with the call that ends it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Region {
    /// [`CallSite::id`] of the call before the region; `None` at the start of a thread.
    pub from: Option<usize>,
    /// [`CallSite::id`] of the call that ends the region.
    pub to: Option<usize>,
    /// Number of passages, over ranks and threads.
    pub calls: u64,
    /// Time of computation, in s.
    pub compute_s: f64,
    /// Time inside the MPI call, in s.
    pub mpi_s: f64,
    /// Bytes moved by the MPI call.
    pub bytes: u64,
    /// Computation by rank, in the order of [`Summary::ranks`].
    pub compute_by_rank_s: Vec<f64>,
    /// Parts of these times on a core and waiting for one, where they were sampled.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledParts>,
}

/// Parts of a region's times, in s; the rest of them the threads were blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledParts {
    /// Processor time of the computation.
    pub compute_cpu_s: f64,
    /// Waiting for a core during the computation.
    pub compute_runqueue_s: f64,
    /// Processor time inside MPI.
    pub mpi_cpu_s: f64,
    /// Waiting for a core inside MPI.
    pub mpi_runqueue_s: f64,
}

/// Totals of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankTotals {
    /// Index in [`Summary::worlds`].
    pub world: usize,
    /// Rank in the world.
    pub rank: u32,
    /// Node on which the rank ran.
    pub node: String,
    /// Process id on the node.
    pub pid: u32,
    /// Number of threads that called MPI; a thread that starts after another one ended may take its place.
    pub n_threads: usize,
    /// Time from the end of `MPI_Init` to the start of `MPI_Finalize`, or to the rank's end, in s.
    pub elapsed_s: f64,
    /// Part of `elapsed_s` outside MPI, in the thread that called `MPI_Init`.
    pub useful_s: f64,
    /// Part of `elapsed_s` inside MPI, in that thread.
    pub mpi_s: f64,
    /// Number of calls, over all threads.
    pub calls: u64,
    /// Bytes moved, over all threads; without those of calls that complete requests.
    pub bytes: u64,
    /// `finalized`, `running`, `detached` (the process continued), or `ended without MPI_Finalize`.
    pub end: String,
    /// MPI call that the rank was in when last seen, if it did not finalize.
    pub last_seen_in: Option<String>,
    /// What the rank used of processors, memory and files.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub usage: Option<RankUsage>,
}

impl RankTotals {
    /// Part of [`RankTotals::useful_s`] in which the rank did not wait for a core.
    pub fn computing_s(&self) -> f64 {
        let waiting_s = self.usage.as_ref().map_or(0.0, |usage| usage.compute_runqueue_s);
        (self.useful_s - waiting_s).max(0.0)
    }

    /// Time in s in which the rank waited for a core, in the thread that called `MPI_Init`.
    pub fn runqueue_s(&self) -> f64 {
        self.usage.as_ref().map_or(0.0, |usage| usage.compute_runqueue_s + usage.mpi_runqueue_s)
    }
}

/// One `MPI_COMM_WORLD`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct World {
    /// Number of its ranks that were monitored.
    pub n_ranks: usize,
    /// Number of its ranks.
    pub size: usize,
    /// Program of its first rank.
    pub program: String,
    /// Start, in seconds after [`Summary::started_s`].
    pub start_s: f64,
    /// Longest time of one of its ranks, in s.
    pub elapsed_s: f64,
    /// Efficiencies of the world alone.
    pub pop: Efficiencies,
}

/// Traffic from one rank to another of the same world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Index in [`Summary::worlds`].
    pub world: usize,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Number of messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Conclusion about what limits the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Sentence for the user.
    pub text: String,
    /// [`CallSite::id`] of the relevant call site.
    pub call_site: Option<usize>,
    /// Share of the ranks' time at stake, 0..=1.
    pub share: f64,
}

/// Cost of monitoring, and losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCost {
    /// Time added to an MPI call in ns, measured in each rank at its start; the median over ranks.
    pub ns_per_call: f64,
    /// Number of monitored MPI calls.
    pub calls: u64,
    /// `ns_per_call * calls` over the ranks' elapsed time, 0..=1.
    pub share_of_time: f64,
    /// Shared memory used, over all nodes, in bytes.
    pub shared_memory_bytes: u64,
    /// Records in the event file; 0 without `--trace`.
    pub records: u64,
    /// Records dropped because the ring was full.
    pub records_dropped: u64,
    /// Calls counted by operation only, because the region table was full.
    pub calls_without_region: u64,
    /// Threads refused for lack of room; their calls were not counted.
    pub threads_refused: u64,
    /// Sentences about what could not be monitored, each with a remedy.
    pub warnings: Vec<String>,
}

/// Describes the information in `kept` that `new` lacks; `None` if nothing is lost.
///
/// A record is finished again after a full disk or a killed launcher, from the data that is left then. These
/// may be fewer than the data of the first summary.
#[must_use]
pub fn missing_in(kept: &Summary, new: &Summary) -> Option<String> {
    let counts = |summary: &Summary| {
        [
            (count(summary.n_ranks), "ranks"),
            (summary.tool.calls, "MPI calls"),
            (summary.tool.records, "recorded events"),
            (sum(summary.functions.iter().map(|totals| totals.total.calls)), "calls of functions"),
            (sum(summary.function_sums.iter().map(|sums| sums.n)), "passages of functions"),
            (summary.sampling.as_ref().map_or(0, |it| it.samples), "samples"),
            (count(summary.resizes.len()), "resizes"),
            (u64::from(summary.tuning.is_some()), "record of tuning"),
            (u64::from(summary.dealt.is_some()), "record of dealt work"),
            (u64::from(summary.outcome.complete), "end of the command"),
        ]
    };
    let pairs = counts(kept).into_iter().zip(counts(new));
    let lost = pairs.filter(|((kept, _), (new, _))| new < kept);
    let words: Vec<String> =
        lost.map(|((kept, what), (new, _))| format!("{kept} {what}, not {new}")).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Facts = (usize, u64, u64, bool);

    fn summary((n_ranks, calls, records, complete): Facts) -> Summary {
        let tool = ToolCost { calls, records, ..ToolCost::default() };
        let outcome = CommandOutcome { complete, ..CommandOutcome::default() };
        Summary { n_ranks, tool, outcome, ..Summary::default() }
    }

    #[track_caller]
    fn check(kept: Facts, new: Facts, expected: Option<&str>) {
        assert_eq!(missing_in(&summary(kept), &summary(new)).as_deref(), expected);
    }

    #[test]
    fn less_of_anything_is_a_loss() {
        check((2, 10, 5, true), (2, 10, 5, true), None);
        check((2, 10, 0, false), (3, 11, 5, true), None);
        check((2, 10, 5, true), (0, 0, 5, true), Some("2 ranks, not 0; 10 MPI calls, not 0"));
        check((2, 10, 5, true), (2, 10, 4, true), Some("5 recorded events, not 4"));
        check((2, 10, 5, true), (3, 11, 6, false), Some("1 end of the command, not 0"));
    }
}
