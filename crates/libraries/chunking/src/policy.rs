//! Interface of a policy: requests, completions and settings.

use std::fmt::Debug;

/// A rule for the sizes of chunks.
///
/// [`crate::ChunkScheduler`] keeps the counts for the requests, and keeps the policy's answers within bounds.
///
/// # Example
///
/// ```
/// use chunking::{ChunkRequest, Settings, Work, by_name};
///
/// let mut policy = by_name("gss").unwrap().policy(&Settings::default());
/// policy.begin(&Work { n_tasks: 1000, n_workers: 4 });
/// let request = ChunkRequest { worker: 0, n_left: 1000, n_workers: 4, n_held: 0 };
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Completion of a chunk.
///
/// Times come from outside: one below 0 counts as 0, and a chunk with a NaN or infinite time
/// is ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completed {
    /// Number that identifies the worker.
    pub worker: u32,
    /// Tasks in the chunk.
    pub n_tasks: u64,
    /// Computing time of all its tasks, in seconds.
    pub compute_s: f64,
    /// Time that the worker waited for the chunk without computing, in seconds.
    pub overhead_s: f64,
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
}

impl Default for Settings {
    fn default() -> Self {
        Self { n_tasks_min: 1, share: 0.5, n_iterations: 5, overhead_s: None, spread: None }
    }
}
