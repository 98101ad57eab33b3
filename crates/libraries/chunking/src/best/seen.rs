//! Chunks that came back in the present iteration.

use crate::policy::Completed;
use std::collections::BTreeMap;
use std::ops::Range;

/// Largest number of chunks remembered of an iteration; later ones are not learnt from.
const N_CHUNKS_MAX: usize = 1 << 18;

/// A chunk and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenChunk {
    pub(super) worker: u32,
    pub(super) first: u64,
    pub(super) n_tasks: u64,
    pub(super) compute_s: f64,
    /// Speed of the worker over the mean, as it was believed then.
    pub(super) speed: f64,
}

impl SeenChunk {
    pub(super) fn tasks(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.n_tasks)
    }

    /// Time of one task, in seconds.
    pub(super) fn task_s(&self) -> f64 {
        self.compute_s / self.n_tasks.max(1) as f64
    }

    /// Time on a worker of mean speed, in seconds, where workers had these speeds; those believed then count for others.
    pub(super) fn cost_s(&self, speeds: &BTreeMap<u32, f64>) -> f64 {
        self.compute_s * speeds.get(&self.worker).copied().unwrap_or(self.speed)
    }
}

/// The chunks of an iteration, in the order in which they came back.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) chunks: Vec<SeenChunk>,
    n_tasks: f64,
    compute_s: f64,
}

impl Seen {
    pub(super) fn add(&mut self, done: &Completed, speed: f64) {
        let Completed { worker, first, n_tasks, compute_s, .. } = *done;
        self.n_tasks += n_tasks as f64;
        self.compute_s += compute_s;
        if self.chunks.len() < N_CHUNKS_MAX {
            self.chunks.push(SeenChunk { worker, first, n_tasks, compute_s, speed });
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self { chunks: std::mem::take(&mut self.chunks), ..Self::default() };
        self.chunks.clear();
    }

    /// Mean time of a task, in seconds; 0 before the first chunk.
    pub(super) fn task_s(&self) -> f64 {
        if 0.0 < self.n_tasks { self.compute_s / self.n_tasks } else { 0.0 }
    }
}
