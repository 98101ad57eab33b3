//! Numbers of a run. Times are in seconds, sizes in bytes.

use serde::{Deserialize, Serialize};

/// Version of the meaning of the fields.
pub const FORMAT_VERSION: u32 = 1;

/// Report on a run of a master and workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DealingReport {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Name of the policy that sized the chunks.
    pub policy: String,
    /// Sums over all iterations.
    pub sums: Sums,
    /// One in this many iterations is listed, starting with the first one.
    pub every: u64,
    /// Listed iterations, in order.
    pub iterations: Vec<IterationLine>,
    /// Workers that computed, by rank; includes the master if it computed.
    pub workers: Vec<Worker>,
    /// Number of workers left out of the list.
    pub n_workers_left_out: u64,
    /// Slowest iteration, chunk by chunk.
    pub slowest: Option<Slowest>,
    /// Changes between iterations, with their reasons.
    pub changes: Vec<IterationChange>,
    /// Number of changes left out of the list.
    pub n_changes_left_out: u64,
    /// Number of workers in the last iteration, and the shares set by a tool.
    #[serde(skip)]
    pub(crate) last: Option<(u32, Option<[f64; 3]>)>,
}

/// Sums over the iterations of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Number of iterations.
    pub n_iterations: u64,
    /// Time of all iterations, in seconds.
    pub duration_s: f64,
    /// Time that they would have taken with evenly shared work and no waiting, in seconds.
    pub ideal_s: f64,
    /// Computing time of all ranks, in seconds.
    pub compute_s: f64,
    /// Available time: durations of the iterations times their numbers of workers, in seconds.
    pub available_s: f64,
    /// Number of tasks.
    pub n_tasks: u64,
    /// Number of chunks dealt, including those dealt again.
    pub n_chunks: u64,
    /// Number of chunks taken back before they began.
    pub n_retracted: u64,
    /// Number of chunks that failed and were retried.
    pub n_retried: u64,
    /// Number of workers lost or missing.
    pub n_lost: u64,
    /// Number of messages of all kinds.
    pub n_messages: u64,
    /// Bytes of shared data, over all workers that got them.
    pub shared_bytes: u64,
    /// Bytes of inputs.
    pub input_bytes: u64,
    /// Bytes of results.
    pub output_bytes: u64,
    /// Time that chunks and their results were in transit, in seconds.
    pub way_s: f64,
    /// Number of chunks with a known transit time.
    pub n_ways: u64,
}

impl Sums {
    /// Share of the available time in which workers computed; 1 when there was nothing to do.
    pub fn efficiency(&self) -> f64 {
        share(self.compute_s, self.available_s)
    }
}

/// Numbers of one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationLine {
    /// Number of the iteration, from 0.
    pub iteration: u64,
    /// Time from its start to its last result, in seconds.
    pub duration_s: f64,
    /// Time with evenly shared work and no waiting, in seconds.
    pub ideal_s: f64,
    /// Number of workers that took part.
    pub n_workers: u32,
    /// Number of tasks.
    pub n_tasks: u64,
    /// Number of chunks dealt, including those dealt again.
    pub n_chunks: u64,
}

impl IterationLine {
    /// Share of the workers' time in which they computed.
    pub fn efficiency(&self) -> f64 {
        share(self.ideal_s, self.duration_s)
    }
}

/// Numbers of a worker over the run, with the reasons for its idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worker {
    /// Rank; 0 is the master.
    pub rank: u32,
    /// Number of tasks computed.
    pub n_tasks: u64,
    /// Number of chunks computed.
    pub n_chunks: u64,
    /// Time of the iterations in which the worker took part, in seconds.
    pub duration_s: f64,
    /// Part of it in the program's own code, in seconds.
    pub compute_s: f64,
    /// Part of it before the first chunk of an iteration, in seconds.
    pub start_s: f64,
    /// Part of it between chunks, because the next one had not arrived, in seconds.
    pub waited_s: f64,
    /// Part of it after the last chunk, while others still computed, in seconds.
    pub end_s: f64,
    /// Time of the iterations in which the worker was present but not used, in seconds.
    pub parked_s: f64,
}

impl Worker {
    /// Time of its iterations that is neither work nor waiting: packing, sending and unpacking
    /// messages, in seconds.
    pub fn other_s(&self) -> f64 {
        let known_s = self.compute_s + self.start_s + self.waited_s + self.end_s;
        (self.duration_s - known_s).max(0.0)
    }
}

/// Iteration chunk by chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slowest {
    /// Number of the iteration.
    pub iteration: u64,
    /// Duration, in seconds.
    pub duration_s: f64,
    /// Number of tasks.
    pub n_tasks: u64,
    /// Finished chunks, in the order of dealing.
    pub chunks: Vec<ChunkRecord>,
    /// Number of chunks left out of the list.
    pub n_chunks_left_out: u64,
}

/// Chunk of an iteration; times count from the start of the iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChunkRecord {
    /// Rank that computed it.
    pub rank: u32,
    /// Number in the run.
    pub chunk: u64,
    /// First task; 0 in older reports.
    pub first: u64,
    /// Number of tasks.
    pub n_tasks: u64,
    /// Number of its batch.
    pub batch: u32,
    /// Start of computing, in seconds.
    pub began_s: f64,
    /// End of computing, in seconds.
    pub ended_s: f64,
}

/// Change from one iteration to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationChange {
    /// First iteration with the new value.
    pub iteration: u64,
    /// Quantity that changed: `workers`, or `share of batch 0`.
    pub what: String,
    /// Old value; `None` when it was the program's own choice.
    pub old: Option<f64>,
    /// New value.
    pub new: Option<f64>,
    /// Reason, in words; may be empty.
    pub reason: String,
}

/// `part / whole`, or 1 if `whole` is 0.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if 0.0 < whole { (part / whole).min(1.0) } else { 1.0 }
}
