//! Decides whether parked workers join an iteration that has begun.
//!
//! The remaining computing time follows from the tasks that no worker holds and the speed so far, the cost of a further
//! worker from how long the first ones waited for their first chunks. While messages are on their way to further
//! workers, the present ones continue: with `R` the computing left, `n` workers, `m` further ones and `s` the cost of
//! each, what is left takes `m*s + (R - n*m*s)/(n + m)` instead of `R/n`.
//!
//! # Invariants
//! - Pure: times are arguments.

use std::collections::BTreeSet;

/// Smallest gain for which workers join, as a share of the time left.
const GAIN_MIN: f64 = 0.25;

/// Times of a chunk, on the master's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkTimes {
    pub(crate) worker: u32,
    pub(crate) batch: u32,
    pub(crate) n_tasks: u64,
    /// Bytes of shared data, if this worker got them just before this chunk.
    pub(crate) shared_bytes: u64,
    /// Transfer time of the chunk in seconds, when the worker waited for it.
    pub(crate) message_s: Option<f64>,
    pub(crate) began_s: f64,
    pub(crate) ended_s: f64,
}

/// Measurements of the running iteration.
#[derive(Debug, Default)]
pub(crate) struct IterationProgress {
    began_s: f64,
    begun: BTreeSet<u32>,
    /// Latest start of a worker's first chunk, in seconds after the start of the iteration.
    last_begun_s: f64,
    n_tasks: u64,
    compute_s: f64,
    /// True if workers have joined already: what was sent to them is not measured yet.
    is_joined: bool,
}

impl IterationProgress {
    pub(crate) fn begin(&mut self, began_s: f64) {
        *self = Self { began_s, ..Self::default() };
    }

    pub(crate) fn chunk_done(&mut self, chunk: &ChunkTimes) {
        if self.begun.insert(chunk.worker) {
            self.last_begun_s = self.last_begun_s.max(chunk.began_s - self.began_s);
        }
        self.n_tasks += chunk.n_tasks;
        self.compute_s += chunk.ended_s - chunk.began_s;
    }

    /// Returns the number of workers for the rest of the iteration, of at most `n_max`, if it exceeds `n_workers`.
    pub(crate) fn joining(&mut self, n_undealt: u64, n_workers: u32, n_max: u32) -> Option<u32> {
        if self.is_joined || self.n_tasks == 0 || n_workers == 0 {
            return None;
        }
        let left_s = n_undealt as f64 * self.compute_s / self.n_tasks as f64;
        let each_s = self.last_begun_s / self.begun.len() as f64;
        let n_more = reinforcements(left_s, each_s, n_workers, n_max.saturating_sub(n_workers))?;
        self.is_joined = true;
        Some(n_workers + n_more)
    }
}

/// Number of further workers that ends the work soonest, if it gains enough.
fn reinforcements(left_s: f64, each_s: f64, n_workers: u32, n_more_max: u32) -> Option<u32> {
    let time_s = |n_more: u32| {
        let (n, m) = (f64::from(n_workers), f64::from(n_more));
        m * each_s + (left_s - n * m * each_s).max(0.0) / (n + m)
    };
    let best = (1..=n_more_max).min_by(|a, b| time_s(*a).total_cmp(&time_s(*b)))?;
    (time_s(best) < (1.0 - GAIN_MIN) * time_s(0)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left_ms: f64, each_ms: f64, n_workers: u32, n_more_max: u32, expected: Option<u32>) {
        let found = reinforcements(1e-3 * left_ms, 1e-3 * each_ms, n_workers, n_more_max);
        assert_eq!(found, expected);
    }

    #[test]
    fn as_many_join_as_end_the_work_soonest() {
        check(480.0, 8.0, 1, 18, Some(7));
        check(480.0, 8.0, 1, 3, Some(3));
        check(480.0, 8.0, 8, 11, None);
        check(480.0, 0.0, 4, 4, Some(4));
        check(480.0, 400.0, 1, 18, None);
        check(0.0, 8.0, 1, 18, None);
        check(480.0, 8.0, 1, 0, None);
    }

    #[test]
    fn they_join_once_in_an_iteration() {
        let mut progress = IterationProgress::default();
        progress.begin(10.0);
        assert_eq!(progress.joining(900, 1, 19), None);
        let (began_s, ended_s) = (10.008, 10.058);
        let chunk = ChunkTimes {
            worker: 1,
            batch: 0,
            n_tasks: 100,
            shared_bytes: 0,
            message_s: None,
            began_s,
            ended_s,
        };
        progress.chunk_done(&chunk);
        assert_eq!(progress.joining(900, 1, 19), Some(8));
        assert_eq!(progress.joining(900, 1, 19), None);
        progress.begin(11.0);
        assert_eq!(progress.joining(900, 1, 19), None);
    }
}
