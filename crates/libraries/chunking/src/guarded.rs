//! Guard around every policy: it hears only valid times, and its answers are bounded.
//!
//! Measured times come from other machines and from users' code. A chunk whose time is NaN, infinite or
//! longer than [`LONGEST_S`] is not passed to the policy; a time below 0 (clocks differ) becomes 0.
//!
//! # Invariants
//! - A policy receives finite times of at least 0, and at least one worker.
//! - An answer is at least one task and at most the tasks left; a pick has tasks of one range that is left, and is
//!   empty only while other tasks are held.

use crate::policy::{ChunkRequest, Completed, Policy, Settings, Work};
use crate::{Spread, TaskSet};
use std::ops::Range;

/// Longest accepted time, about thirty years: sums of such times stay finite.
const LONGEST_S: f64 = 1e9;

/// A policy with checked inputs and outputs.
#[derive(Debug)]
pub(crate) struct Guarded<P>(pub(crate) P);

impl<P: Policy + ?Sized> Policy for Guarded<Box<P>> {
    fn begin(&mut self, work: &Work) {
        self.0.begin(&with_a_worker(*work));
    }

    fn restart(&mut self, left: &Work) {
        self.0.restart(&with_a_worker(*left));
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        let (n_left, n_workers) = (request.n_left.max(1), request.n_workers.max(1));
        self.0.next(&ChunkRequest { n_left, n_workers, ..*request }).clamp(1, n_left)
    }

    fn pick(&mut self, request: &ChunkRequest, left: &TaskSet) -> Range<u64> {
        let (n_left, n_workers) = (request.n_left.max(1), request.n_workers.max(1));
        let now_s = time(request.now_s).unwrap_or(0.0);
        let request = ChunkRequest { n_left, n_workers, now_s, ..*request };
        let picked = self.0.pick(&request, left);
        let may_wait = 0 < request.n_in_flight;
        match () {
            () if picked.is_empty() && may_wait => 0..0,
            () if !picked.is_empty() && left.has_all(&picked) => picked,
            () => left.first_few(1),
        }
    }

    fn returned(&mut self, tasks: Range<u64>) {
        self.0.returned(tasks);
    }

    fn completed(&mut self, done: &Completed) {
        if let Some(done) = cleaned(done) {
            self.0.completed(&done);
        }
    }

    fn left(&mut self, worker: u32) {
        self.0.left(worker);
    }
}

fn with_a_worker(work: Work) -> Work {
    Work { n_workers: work.n_workers.max(1), ..work }
}

fn cleaned(done: &Completed) -> Option<Completed> {
    let (compute_s, overhead_s) = (time(done.compute_s)?, time(done.overhead_s)?);
    let now_s = time(done.now_s).unwrap_or(0.0);
    (done.n_tasks != 0).then_some(Completed { compute_s, overhead_s, now_s, ..*done })
}

fn time(time_s: f64) -> Option<f64> {
    (time_s <= LONGEST_S && time_s.is_finite()).then(|| time_s.max(0.0))
}

impl Settings {
    /// Returns the settings with which policies are created: an invalid time counts as not known.
    pub(crate) fn cleaned(&self) -> Self {
        let share = if self.share.is_nan() { Self::default().share } else { self.share };
        let known = |spread: Spread| {
            let (mean_s, deviation_s) = (time(spread.mean_s)?, time(spread.deviation_s)?);
            Some(Spread { mean_s, deviation_s })
        };
        Self {
            n_tasks_min: self.n_tasks_min.max(1),
            share,
            overhead_s: self.overhead_s.and_then(time),
            spread: self.spread.and_then(known),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(compute_s: f64, overhead_s: f64, expected: Option<(f64, f64)>) {
        let heard = cleaned(&Completed { compute_s, overhead_s, ..Completed::default() });
        assert_eq!(heard.map(|heard| (heard.compute_s, heard.overhead_s)), expected);
    }

    #[test]
    fn what_is_no_time_is_not_heard() {
        check(1.0, 0.5, Some((1.0, 0.5)));
        check(-1.0, -0.0, Some((0.0, 0.0)));
        check(f64::NAN, 0.5, None);
        check(1.0, f64::NAN, None);
        check(1.0, f64::INFINITY, None);
        check(f64::NEG_INFINITY, 0.5, None);
        check(1e300, 0.5, None);
    }

    #[derive(Debug)]
    struct Says(u64);

    impl Policy for Says {
        fn restart(&mut self, _: &Work) {}

        fn next(&mut self, request: &ChunkRequest) -> u64 {
            assert!(request.n_left != 0 && request.n_workers != 0);
            self.0
        }
    }

    #[test]
    fn an_answer_is_a_chunk() {
        for (said, n_left, expected) in [(0, 5, 1), (3, 5, 3), (9, 5, 5), (9, 0, 1)] {
            let mut policy = Guarded(Box::new(Says(said)));
            let request = ChunkRequest { n_left, n_workers: 0, ..ChunkRequest::default() };
            assert_eq!(policy.next(&request), expected);
        }
    }
}
