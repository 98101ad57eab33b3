//! `daf`: dynamic adjusting factoring, which sizes batches by the spread of task times.
//!
//! Batch `j` is `R_j / x_j`, `x_0 = 1 + sigma*sqrt(N/2)/mu`, `x_j = 2 + sigma*sqrt(N/2)/mu` (Martínez 2010,
//! "Sintonización dinámica de aplicaciones MPI"). The divisors come from `mu*F_0 + sigma*F_0*sqrt(N/2) = mu*M/N` for the chunk
//! `F_0` of batch 0, and `mu*F_j + sigma*F_j*sqrt(N/2) = mu*(R_j/N - F_j)` for later ones: the slowest of
//! `N` chunks ends when the remaining tasks, evenly shared, would.
//!
//! The first iteration only measures: every batch is half of the remaining tasks. In later iterations, batches 0 and 1
//! are prepared at the start, and each further batch when fewer than `N/2` prepared chunks remain.
//! Where chunks would be below the smallest size, the remaining tasks are dealt in chunks of that size.

use crate::batch::{Batch, Cut};
use crate::policy::{ChunkRequest, Completed, Policy, Settings, Work};
use crate::registry::PolicySpec;
use crate::spread::{Spread, Window};
use std::collections::VecDeque;

/// Share of every batch before the first measurement.
const SHARE_UNKNOWN: f64 = 0.5;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "daf",
    sentence: "dynamic adjusting factoring: batches with a share from the spread of tasks",
    source: "Martínez 2010, Sintonización dinámica de aplicaciones MPI",
    assumes_known: false,
    make: |settings| Box::new(Adjusting::new(settings)),
};

/// Divisor `x_0` of DAF: batch 0 has `1/x_0` of the tasks.
pub fn first_divisor(spread: Spread, n_workers: f64) -> f64 {
    1.0 + spread.relative() * (n_workers / 2.0).sqrt()
}

/// Divisor `x_j` of DAF: a later batch has `1/x_j` of the remaining tasks.
pub fn later_divisor(spread: Spread, n_workers: f64) -> f64 {
    2.0 + spread.relative() * (n_workers / 2.0).sqrt()
}

#[derive(Debug)]
struct Adjusting {
    n_tasks_min: u64,
    measured: Window,
    /// True if times of an earlier iteration are known.
    is_known: bool,
    prepared: VecDeque<Batch>,
    n_prepared_before: u64,
}

impl Adjusting {
    fn new(settings: &Settings) -> Self {
        Self {
            n_tasks_min: settings.n_tasks_min,
            measured: Window::new(settings.n_iterations),
            is_known: false,
            prepared: VecDeque::new(),
            n_prepared_before: 0,
        }
    }

    /// Cuts the next batch from tasks that are in no batch yet.
    fn prepare(&mut self, left: &Work) {
        let in_batches: u64 = self.prepared.iter().map(Batch::n_tasks).sum();
        let n_left = left.n_tasks.saturating_sub(in_batches);
        if n_left == 0 {
            return;
        }
        let n_workers = left.n_workers;
        let cut = Cut { n_left, n_workers, n_tasks_min: self.n_tasks_min };
        self.prepared.push_back(Batch::of_share(self.share(n_workers), cut));
        self.n_prepared_before += 1;
    }

    fn share(&self, n_workers: u32) -> f64 {
        let (spread, n_workers) = (self.measured.moments().spread(), f64::from(n_workers));
        match (self.is_known, self.n_prepared_before) {
            (false, _) => SHARE_UNKNOWN,
            (true, 0) => 1.0 / first_divisor(spread, n_workers),
            (true, _) => 1.0 / later_divisor(spread, n_workers),
        }
    }

    fn n_chunks(&self) -> u64 {
        self.prepared.iter().map(Batch::n_chunks).sum()
    }
}

impl Policy for Adjusting {
    fn begin(&mut self, work: &Work) {
        self.is_known = !self.measured.moments().is_empty();
        self.measured.begin();
        self.n_prepared_before = 0;
        self.prepared.clear();
        if self.is_known {
            self.prepare(work);
            self.prepare(work);
        }
    }

    fn restart(&mut self, _: &Work) {
        self.prepared.clear();
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        if self.n_chunks() < u64::from(request.n_workers).div_ceil(2) {
            self.prepare(&Work { n_tasks: request.n_left, n_workers: request.n_workers });
        }
        while self.prepared.front().is_some_and(|batch| batch.n_chunks() == 0) {
            self.prepared.pop_front();
        }
        self.prepared.front_mut().map_or(self.n_tasks_min, Batch::take)
    }

    fn completed(&mut self, done: &Completed) {
        self.measured.add(done.n_tasks, done.compute_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[(f64, f64)], n_workers: f64, first: f64, later: f64) {
        let spread = Spread::of_chunks(chunks.iter().copied());
        assert!((first_divisor(spread, n_workers) - first).abs() < 1e-12);
        assert!((later_divisor(spread, n_workers) - later).abs() < 1e-12);
    }

    #[test]
    fn divisors_grow_with_the_spread_between_chunks() {
        check(&[], 8.0, 1.0, 2.0);
        check(&[(10.0, 1.0), (20.0, 2.0)], 8.0, 1.0, 2.0);
        // mu = 2, sigma = 1: sigma/mu = 0.5, and sqrt(8/2) = 2.
        check(&[(10.0, 10.0), (10.0, 30.0)], 8.0, 2.0, 3.0);
    }
}
