//! Bookkeeping around a policy: tasks left to deal, and tasks held by each worker.

use crate::guarded::Guarded;
use crate::policy::{ChunkRequest, Completed, Policy, Work};
use std::collections::BTreeMap;

/// Deals the tasks of iteration after iteration by one policy.
///
/// # Invariants
/// - Every task is left, held by one worker, or completed.
/// - A chunk has at least one task and at most those that are left, whatever the policy says.
///
/// # Not here
/// Which tasks a chunk consists of: the caller keeps their order and what comes back.
#[derive(Debug)]
pub struct ChunkScheduler {
    policy: Guarded<Box<dyn Policy>>,
    n_left: u64,
    held: BTreeMap<u32, u64>,
    n_workers: u32,
}

impl ChunkScheduler {
    /// Creates a scheduler without tasks.
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Self { policy: Guarded(policy), n_left: 0, held: BTreeMap::new(), n_workers: 1 }
    }

    /// Begins an iteration with these tasks; forgets what workers held.
    pub fn begin(&mut self, n_tasks: u64, n_workers: u32) {
        self.n_left = n_tasks;
        self.n_workers = n_workers.max(1);
        self.held.clear();
        self.policy.begin(&self.work());
    }

    /// Deals the next chunk to a worker and returns its number of tasks; 0 when no task is left.
    pub fn deal(&mut self, worker: u32) -> u64 {
        if self.n_left == 0 {
            return 0;
        }
        let n_held = self.held(worker);
        let request =
            ChunkRequest { worker, n_left: self.n_left, n_workers: self.n_workers, n_held };
        let n_tasks = self.policy.next(&request);
        self.n_left -= n_tasks;
        *self.held.entry(worker).or_default() += n_tasks;
        n_tasks
    }

    /// Records that a worker returned a chunk.
    pub fn completed(&mut self, done: &Completed) {
        self.take_back(done.worker, done.n_tasks);
        self.policy.completed(done);
    }

    /// Takes back tasks that a worker held but did not begin, or failed at, to be dealt again.
    pub fn returned(&mut self, worker: u32, n_tasks: u64) {
        let n_tasks = self.take_back(worker, n_tasks);
        self.n_left += n_tasks;
        self.restart();
    }

    /// Adds a worker.
    pub fn joined(&mut self) {
        self.n_workers += 1;
        self.restart();
    }

    /// Removes a worker and returns the number of tasks it held, which are to be dealt again. The count of
    /// workers stays at least 1.
    pub fn left(&mut self, worker: u32) -> u64 {
        let n_tasks = self.held.remove(&worker).unwrap_or(0);
        self.n_left += n_tasks;
        self.n_workers = self.n_workers.saturating_sub(1).max(1);
        self.policy.left(worker);
        self.restart();
        n_tasks
    }

    /// Returns the number of tasks not dealt yet.
    pub fn n_left(&self) -> u64 {
        self.n_left
    }

    /// Returns the number of tasks that a worker has and has not returned.
    pub fn held(&self, worker: u32) -> u64 {
        self.held.get(&worker).copied().unwrap_or(0)
    }

    /// Returns the number of tasks dealt and not returned.
    pub fn n_in_flight(&self) -> u64 {
        self.held.values().sum()
    }

    fn take_back(&mut self, worker: u32, n_tasks: u64) -> u64 {
        let Some(held) = self.held.get_mut(&worker) else { return 0 };
        let n_tasks = n_tasks.min(*held);
        *held -= n_tasks;
        n_tasks
    }

    fn work(&self) -> Work {
        Work { n_tasks: self.n_left, n_workers: self.n_workers }
    }

    fn restart(&mut self) {
        self.policy.restart(&self.work());
    }
}
