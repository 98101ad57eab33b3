//! What is counted in an iteration.

use crate::ledger::{Done, Measured};
use crate::report::{IterationReport, WorkerReport};
use std::collections::BTreeMap;

/// Counts of the iteration that runs.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counted: IterationReport,
    workers: BTreeMap<u32, WorkerReport>,
    is_shared_new: bool,
}

impl Tally {
    pub(super) fn shared_is_new(&mut self) {
        self.is_shared_new = true;
    }

    /// The shared data were sent to a worker.
    pub(super) fn shared(&mut self, n_bytes: usize) {
        if self.is_shared_new {
            self.counted.shared_bytes = n_bytes as u64;
        }
    }

    pub(super) fn sent(&mut self, n_bytes: usize) {
        self.counted.n_chunks += 1;
        self.counted.input_bytes += n_bytes as u64;
    }

    pub(super) fn retracted(&mut self) {
        self.counted.n_retracted += 1;
    }

    pub(super) fn retried(&mut self) {
        self.counted.n_retried += 1;
    }

    pub(super) fn lost(&mut self) {
        self.counted.n_lost += 1;
    }

    pub(super) fn done(&mut self, worker: u32, done: &Done, measured: Measured, n_bytes: usize) {
        self.counted.output_bytes += n_bytes as u64;
        let counted = self.workers.entry(worker).or_default();
        if counted.n_chunks != 0 {
            counted.waited_s += measured.waited_s.max(0.0);
        }
        counted.n_chunks += 1;
        counted.n_tasks += done.tasks.end - done.tasks.start;
        counted.compute_s += measured.compute_s;
    }

    /// All of it; the next iteration begins with nothing counted. Those who took part are listed although
    /// they got nothing.
    pub(super) fn report(
        &mut self,
        iteration: u64,
        n_tasks: u64,
        duration_s: f64,
        took_part: impl Iterator<Item = u32>,
    ) -> IterationReport {
        let Self { counted, mut workers, .. } = std::mem::take(self);
        for rank in took_part {
            workers.entry(rank).or_default();
        }
        let workers = workers.into_iter().map(|(rank, counted)| WorkerReport { rank, ..counted });
        let workers = workers.collect();
        IterationReport { iteration, n_tasks, duration_s, workers, ..counted }
    }
}
