//! Interface of a policy: requests, completions and settings.

use crate::TaskSet;
use std::fmt::Debug;
use std::ops::Range;

/// A rule for the sizes of chunks and, where it learns what tasks cost, for their order.
///
/// [`crate::ChunkScheduler`] keeps the tasks that are left, and the policy's answers within bounds.
///
/// # Example
///
/// ```
/// use chunking::{ChunkRequest, Settings, Work, by_name};
///
/// let mut policy = by_name("gss").unwrap().policy(&Settings::default());
/// policy.begin(&Work { n_tasks: 1000, n_workers: 4 });
/// let request = ChunkRequest { n_left: 1000, n_workers: 4, ..ChunkRequest::default() };
/// assert_eq!(policy.next(&request), 250);
/// ```
pub trait Policy: Debug + Send {
    /// Begins an iteration. Measurements of earlier iterations may be used.
    fn begin(&mut self, work: &Work) {
        self.restart(work);
    }

    /// Replans, because the plan no longer fits the tasks left to deal: a worker gave tasks back, or the
    /// number of workers changed.
    fn restart(&mut self, left: &Work);

    /// Returns the number of tasks in the next chunk for a worker. Whatever the answer, at least one and at
    /// most [`ChunkRequest::n_left`] tasks are dealt.
    fn next(&mut self, request: &ChunkRequest) -> u64;

    /// Returns the tasks of the next chunk for a worker, of one range of those that are left: by default the first
    /// ones, as many as [`Policy::next`] says.
    ///
    /// Without tasks in the answer the worker waits, and asks again when a chunk of another worker has come back. While
    /// no worker holds any task, at least one is dealt.
    ///
    /// `left` has fewer tasks than [`ChunkRequest::n_left`] where others may only be dealt later.
    fn pick(&mut self, request: &ChunkRequest, left: &TaskSet) -> Range<u64> {
        left.first_few(self.next(request))
    }

    /// Records that tasks that were dealt are left again.
    fn returned(&mut self, tasks: Range<u64>) {
        let _ = tasks;
    }

    /// Records that a worker returned a chunk.
    fn completed(&mut self, done: &Completed) {
        let _ = done;
    }

    /// Removes a worker and its measurements: another worker may get its number later.
    fn left(&mut self, worker: u32) {
        let _ = worker;
    }
}

/// Tasks to deal and workers that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tasks not dealt yet.
    pub n_tasks: u64,
    /// Workers that take part.
    pub n_workers: u32,
}

/// Request of a worker for a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkRequest {
    /// Number that identifies the worker.
    pub worker: u32,
    /// Tasks not dealt yet; at least 1.
    pub n_left: u64,
    /// Workers that take part; at least 1.
    pub n_workers: u32,
    /// Tasks that this worker has and has not returned: not 0 when its next chunk is requested ahead of
    /// time.
    pub n_held: u64,
    /// Tasks that all workers have and have not returned.
    pub n_in_flight: u64,
    /// Time of the request on the clock of the caller, in seconds.
    pub now_s: f64,
}

impl Default for ChunkRequest {
    /// Request of the only worker, for the only task, at time 0.
    fn default() -> Self {
        Self { worker: 0, n_left: 1, n_workers: 1, n_held: 0, n_in_flight: 0, now_s: 0.0 }
    }
}

/// Completion of a chunk.
///
/// Times come from outside: one below 0 counts as 0, and a chunk with a NaN or infinite time
/// is ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completed {
    /// Number that identifies the worker.
    pub worker: u32,
    /// First task of the chunk.
    pub first: u64,
    /// Tasks in the chunk.
    pub n_tasks: u64,
    /// Computing time of all its tasks, in seconds.
    pub compute_s: f64,
    /// Time that the worker waited for the chunk without computing, in seconds.
    pub overhead_s: f64,
    /// Time at which the caller heard of it, on the clock of the requests, in seconds.
    pub now_s: f64,
}

impl Completed {
    /// The tasks of the chunk.
    pub fn tasks(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.n_tasks)
    }
}

impl Default for Completed {
    /// One task that took no time.
    fn default() -> Self {
        Self { worker: 0, first: 0, n_tasks: 1, compute_s: 0.0, overhead_s: 0.0, now_s: 0.0 }
    }
}

/// Settings of a policy. Values that are not given are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Tasks in the smallest chunk.
    pub n_tasks_min: u64,
    /// Share of the remaining tasks in each batch of DPF, above 0 and at most 1.
    pub share: f64,
    /// Number of iterations remembered.
    pub n_iterations: usize,
    /// Overhead of a chunk beside computing, in seconds, where it is known.
    pub overhead_s: Option<f64>,
    /// Mean and deviation of the computing time per task, where they are known.
    pub spread: Option<crate::Spread>,
    /// Whether workers are known to ask for a chunk before they have done the one before.
    pub asks_ahead: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            n_tasks_min: 1,
            share: 0.5,
            n_iterations: 5,
            overhead_s: None,
            spread: None,
            asks_ahead: false,
        }
    }
}
