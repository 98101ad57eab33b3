//! `awf-c`: adaptive weighted factoring, weights learned from chunk to chunk.
//!
//! A worker's chunk is `R/(2N)` at its request times its weight, its speed
//! over the mean speed as known then.

use crate::performance::{Performance, weight};
use crate::policy::{ChunkRequest, Completed, Policy, Work};
use crate::registry::PolicySpec;
use crate::rounding;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "awf-c",
    sentence: "adaptive weighted factoring: a part of half of what is left, by speeds known at each request",
    source: "Cariño and Banicescu, Journal of Supercomputing 44(1), 2008",
    assumes_known: false,
    make: |settings| {
        let (n_tasks_min, performance) = (settings.n_tasks_min, Performance::default());
        Box::new(WeightedChunks { n_tasks_min, performance })
    },
};

#[derive(Debug)]
struct WeightedChunks {
    n_tasks_min: u64,
    performance: Performance,
}

impl Policy for WeightedChunks {
    fn restart(&mut self, _: &Work) {}

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        let equal = request.n_left as f64 / (2.0 * f64::from(request.n_workers));
        let share = equal * weight(&self.performance.weights(), request.worker);
        rounding::up(share, request.n_left).max(self.n_tasks_min)
    }

    fn completed(&mut self, done: &Completed) {
        self.performance.add(done.worker, done.n_tasks, done.compute_s);
    }

    fn left(&mut self, worker: u32) {
        self.performance.forget(worker);
    }
}
