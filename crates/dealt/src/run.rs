//! The numbers. Times are seconds, sizes bytes.

use serde::{Deserialize, Serialize};

/// Version of the meaning of the fields.
pub const FORMAT_VERSION: u32 = 1;

/// A run of a master and workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dealt {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// How chunks were sized, by name.
    pub policy: String,
    /// Sums over all iterations.
    pub sums: Sums,
    /// One of so many iterations is listed, from the first one on.
    pub every: u64,
    /// Iterations, in their order.
    pub iterations: Vec<IterationLine>,
    /// Those who computed, by rank; the master too when it did.
    pub workers: Vec<Worker>,
    /// Further ones.
    pub n_workers_left_out: u64,
    /// The iteration that took longest, chunk by chunk.
    pub slowest: Option<Slowest>,
    /// What changed between iterations, and why.
    pub changes: Vec<Change>,
    /// Further changes.
    pub n_changes_left_out: u64,
    /// Who took part in the last iteration, and shares that somebody set.
    #[serde(skip)]
    pub(crate) last: Option<(u32, Option<[f64; 3]>)>,
}

/// Sums over the iterations of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Iterations.
    pub n_iterations: u64,
    /// Their time.
    pub duration_s: f64,
    /// The time they would have taken, had the work been shared evenly and nobody waited.
    pub ideal_s: f64,
    /// Time of work, over all who computed.
    pub compute_s: f64,
    /// Time that those who took part had.
    pub available_s: f64,
    /// Tasks.
    pub n_tasks: u64,
    /// Chunks dealt, again or not.
    pub n_chunks: u64,
    /// Chunks taken back before they were begun.
    pub n_retracted: u64,
    /// Chunks that failed and were tried again.
    pub n_retried: u64,
    /// Workers lost or missed.
    pub n_lost: u64,
    /// Messages of all kinds.
    pub n_messages: u64,
    /// Bytes of shared data, over all who got them.
    pub shared_bytes: u64,
    /// Bytes of inputs.
    pub input_bytes: u64,
    /// Bytes of results.
    pub output_bytes: u64,
    /// Time that chunks and their results were on their way.
    pub way_s: f64,
    /// Chunks of which that is known.
    pub n_ways: u64,
}

impl Sums {
    /// Share of the time of those who took part in which they computed; 1 when there was nothing to do.
    pub fn efficiency(&self) -> f64 {
        share(self.compute_s, self.available_s)
    }
}

/// An iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationLine {
    /// Its number, from 0.
    pub iteration: u64,
    /// From its start to its last result.
    pub duration_s: f64,
    /// The same, had the work been shared evenly and nobody waited.
    pub ideal_s: f64,
    /// Who took part.
    pub n_workers: u32,
    /// Its tasks.
    pub n_tasks: u64,
    /// Chunks dealt, again or not.
    pub n_chunks: u64,
}

impl IterationLine {
    /// Share of the time of those who took part in which they computed.
    pub fn efficiency(&self) -> f64 {
        share(self.ideal_s, self.duration_s)
    }
}

/// A worker over the run, and why it was idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worker {
    /// Its rank; 0 is the master.
    pub rank: u32,
    /// Tasks that it did.
    pub n_tasks: u64,
    /// In so many chunks.
    pub n_chunks: u64,
    /// Time of the iterations in which it took part.
    pub duration_s: f64,
    /// Of it in the program's own code.
    pub compute_s: f64,
    /// Of it before its first chunk of an iteration.
    pub start_s: f64,
    /// Of it between chunks: the next one was not there yet.
    pub waited_s: f64,
    /// Of it after its last chunk: nothing was left, and others still computed.
    pub end_s: f64,
    /// Time of the iterations in which it was there and not wanted.
    pub parked_s: f64,
}

impl Worker {
    /// Time of its iterations that is neither work nor a wait: messages are packed, sent and unpacked.
    pub fn other_s(&self) -> f64 {
        let known_s = self.compute_s + self.start_s + self.waited_s + self.end_s;
        (self.duration_s - known_s).max(0.0)
    }
}

/// An iteration chunk by chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slowest {
    /// Its number.
    pub iteration: u64,
    /// Its time.
    pub duration_s: f64,
    /// Its tasks.
    pub n_tasks: u64,
    /// Chunks that were done, in the order in which they were dealt.
    pub chunks: Vec<Chunk>,
    /// Further ones.
    pub n_chunks_left_out: u64,
}

/// A chunk; times from the start of the iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chunk {
    /// Who computed it.
    pub rank: u32,
    /// Its number in the run.
    pub chunk: u64,
    /// Its tasks.
    pub n_tasks: u64,
    /// Its batch.
    pub batch: u32,
    /// When it was begun.
    pub began_s: f64,
    /// When it was done.
    pub ended_s: f64,
}

/// Something that was other than in the iteration before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Iteration that it counted for first.
    pub iteration: u64,
    /// What it is: `workers`, or `share of batch 0`.
    pub what: String,
    /// Before; none when it was the program's own choice.
    pub old: Option<f64>,
    /// From then on.
    pub new: Option<f64>,
    /// Why, in words; empty when nobody said.
    pub reason: String,
}

/// `part / whole`, and 1 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if 0.0 < whole { (part / whole).min(1.0) } else { 1.0 }
}
