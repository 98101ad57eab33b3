//! Bookkeeping around a policy: tasks left to deal, and tasks held by each worker.

use crate::TaskSet;
use crate::guarded::Guarded;
use crate::policy::{ChunkRequest, Completed, Policy, Work};
use std::collections::BTreeMap;
use std::ops::Range;

/// Deals the tasks of iteration after iteration by one policy.
///
/// # Invariants
/// - Every task is left, held by one worker, or completed.
/// - A chunk has tasks that are left, whatever the policy says.
#[derive(Debug)]
pub struct ChunkScheduler {
    policy: Guarded<Box<dyn Policy>>,
    left: TaskSet,
    held: BTreeMap<u32, TaskSet>,
    n_in_flight: u64,
    n_workers: u32,
}

impl ChunkScheduler {
    /// Creates a scheduler without tasks.
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Self {
            policy: Guarded(policy),
            left: TaskSet::default(),
            held: BTreeMap::new(),
            n_in_flight: 0,
            n_workers: 1,
        }
    }

    /// Begins an iteration with these tasks; forgets what workers held.
    pub fn begin(&mut self, n_tasks: u64, n_workers: u32) {
        self.left = TaskSet::new(n_tasks);
        self.n_workers = n_workers.max(1);
        self.held.clear();
        self.n_in_flight = 0;
        self.policy.begin(&self.work());
    }

    /// Deals the next chunk to a worker at `now_s`; empty when no task is left, and when the worker has to wait until
    /// another one returns a chunk.
    pub fn deal(&mut self, worker: u32, now_s: f64) -> Range<u64> {
        if self.n_left() == 0 {
            return 0..0;
        }
        let request = ChunkRequest {
            worker,
            n_left: self.n_left(),
            n_workers: self.n_workers,
            n_held: self.n_held(worker),
            n_in_flight: self.n_in_flight,
            now_s,
        };
        let tasks = self.policy.pick(&request, &self.left);
        self.left.remove(tasks.clone());
        self.n_in_flight += tasks.end - tasks.start;
        self.held.entry(worker).or_default().insert(tasks.clone());
        tasks
    }

    /// Records that a worker returned a chunk.
    pub fn completed(&mut self, done: &Completed) {
        self.take_back(done.worker, done.tasks());
        self.policy.completed(done);
    }

    /// Takes back tasks that a worker held but did not begin, or failed at, to be dealt again.
    pub fn returned(&mut self, worker: u32, tasks: Range<u64>) {
        for tasks in self.take_back(worker, tasks) {
            self.put_back(tasks);
        }
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
        let held = self.held.remove(&worker).unwrap_or_default();
        self.n_in_flight -= held.n_tasks();
        held.ranges().for_each(|tasks| self.put_back(tasks));
        self.n_workers = self.n_workers.saturating_sub(1).max(1);
        self.policy.left(worker);
        self.restart();
        held.n_tasks()
    }

    /// Returns the number of tasks not dealt yet.
    pub fn n_left(&self) -> u64 {
        self.left.n_tasks()
    }

    /// Returns the number of tasks that a worker has and has not returned.
    pub fn n_held(&self, worker: u32) -> u64 {
        self.held.get(&worker).map_or(0, TaskSet::n_tasks)
    }

    /// Returns the number of tasks dealt and not returned.
    pub fn n_in_flight(&self) -> u64 {
        self.n_in_flight
    }

    fn take_back(&mut self, worker: u32, tasks: Range<u64>) -> Vec<Range<u64>> {
        let Some(held) = self.held.get_mut(&worker) else { return Vec::new() };
        let taken = held.remove(tasks);
        self.n_in_flight -= taken.iter().map(|tasks| tasks.end - tasks.start).sum::<u64>();
        taken
    }

    fn put_back(&mut self, tasks: Range<u64>) {
        self.left.insert(tasks.clone());
        self.policy.returned(tasks);
    }

    fn work(&self) -> Work {
        Work { n_tasks: self.n_left(), n_workers: self.n_workers }
    }

    fn restart(&mut self) {
        self.policy.restart(&self.work());
    }
}
