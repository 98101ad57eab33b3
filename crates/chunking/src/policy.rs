//! What a policy is asked and told.

use std::fmt::Debug;

/// A rule for the sizes of chunks.
///
/// [`crate::Dealer`] keeps the counts that a policy is asked with, and keeps its answers within bounds.
///
/// # Example
///
/// ```
/// use chunking::{Request, Settings, Work, by_name};
///
/// let mut policy = by_name("gss").unwrap().policy(&Settings::default());
/// policy.begin(&Work { n_tasks: 1000, n_workers: 4 });
/// let request = Request { worker: 0, n_left: 1000, n_workers: 4, n_held: 0 };
/// assert_eq!(policy.next(&request), 250);
/// ```
pub trait Policy: Debug + Send {
    /// An iteration begins. What was measured in earlier ones may be used.
    fn begin(&mut self, work: &Work) {
        self.restart(work);
    }

    /// The plan no longer fits what is left to deal: tasks came back from a worker, or the number of
    /// workers changed.
    fn restart(&mut self, left: &Work);

    /// Tasks in the next chunk for a worker. At least one of the [`Request::n_left`] is dealt and at most
    /// all, whatever the answer.
    fn next(&mut self, request: &Request) -> u64;

    /// A worker has returned a chunk.
    fn completed(&mut self, done: &Completed) {
        let _ = done;
    }

    /// A worker is gone, and what was measured of it with it: its number may come back as another one.
    fn left(&mut self, worker: u32) {
        let _ = worker;
    }
}

/// Tasks to deal, and to how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tasks not dealt yet.
    pub n_tasks: u64,
    /// Workers that take part.
    pub n_workers: u32,
}

/// A worker can have a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who; any number that is the worker's own.
    pub worker: u32,
    /// Tasks not dealt yet; at least 1.
    pub n_left: u64,
    /// Workers that take part; at least 1.
    pub n_workers: u32,
    /// Tasks that this worker has and has not returned: not 0 when its next chunk is sent ahead.
    pub n_held: u64,
}

/// A chunk came back.
///
/// Times come from outside: one below 0 counts as 0, and where one is no number, or without end, the chunk
/// says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completed {
    /// Who computed it.
    pub worker: u32,
    /// Its tasks.
    pub n_tasks: u64,
    /// Computing time of all its tasks, in seconds.
    pub compute_s: f64,
    /// How long the worker waited for the chunk without computing, in seconds.
    pub overhead_s: f64,
}

/// What policies are made with. What is not known is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Tasks in the smallest chunk.
    pub n_tasks_min: u64,
    /// Share of what is left in each batch of DPF, above 0 and at most 1.
    pub share: f64,
    /// Iterations remembered.
    pub n_iterations: usize,
    /// Time that a chunk costs beside computing, where it is known, in seconds.
    pub overhead_s: Option<f64>,
    /// Computing time per task, where it is known.
    pub spread: Option<crate::Spread>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { n_tasks_min: 1, share: 0.5, n_iterations: 5, overhead_s: None, spread: None }
    }
}
