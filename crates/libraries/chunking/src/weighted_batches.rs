//! `awf-b`: adaptive weighted factoring, weights learned from batch to batch.
//!
//! Every batch is half of the remaining tasks. A worker's chunk is `1/N` of the batch times its weight, its
//! speed over the mean speed as known when the batch began.

use crate::performance::{Performance, weight};
use crate::policy::{ChunkRequest, Completed, Policy, Work};
use crate::registry::PolicySpec;
use crate::rounding;
use std::collections::BTreeMap;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "awf-b",
    sentence: "adaptive weighted factoring: batches of a half, by speeds known before each batch",
    source: "Cariño and Banicescu, Journal of Supercomputing 44(1), 2008",
    assumes_known: false,
    make: |settings| {
        let n_tasks_min = settings.n_tasks_min;
        Box::new(WeightedBatches { n_tasks_min, ..WeightedBatches::default() })
    },
};

#[derive(Debug, Default)]
struct WeightedBatches {
    n_tasks_min: u64,
    performance: Performance,
    weights: BTreeMap<u32, f64>,
    n_in_batch: u64,
    n_left_in_batch: u64,
}

impl Policy for WeightedBatches {
    fn restart(&mut self, _: &Work) {
        self.n_left_in_batch = 0;
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        if self.n_left_in_batch == 0 {
            self.n_in_batch = request.n_left.div_ceil(2);
            self.n_left_in_batch = self.n_in_batch;
            self.weights = self.performance.weights();
        }
        let equal = self.n_in_batch as f64 / f64::from(request.n_workers);
        let share = equal * weight(&self.weights, request.worker);
        let n_tasks = rounding::up(share, self.n_left_in_batch).max(self.n_tasks_min);
        self.n_left_in_batch = self.n_left_in_batch.saturating_sub(n_tasks.max(1));
        n_tasks
    }

    fn completed(&mut self, done: &Completed) {
        self.performance.add(done.worker, done.n_tasks, done.compute_s);
    }

    fn left(&mut self, worker: u32) {
        self.performance.forget(worker);
    }
}
