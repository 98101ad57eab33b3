//! `tss`: trapezoid self-scheduling.
//!
//! From the first chunk `f = M/(2N)` to the last one `l = 1` in `C = 2M/(f + l)` chunks, each `(f - l)/(C - 1)`
//! tasks smaller than the one before; all but the difference rounded up.

use crate::policy::{ChunkRequest, Policy, Settings, Work};
use crate::registry::PolicySpec;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "tss",
    sentence: "trapezoid self-scheduling: chunks that shrink in equal steps",
    source: "Tzen and Ni, IEEE Transactions on Parallel and Distributed Systems 4(1), 1993",
    assumes_known: false,
    make: |settings| Box::new(Trapezoid::new(settings)),
};

#[derive(Debug)]
struct Trapezoid {
    n_tasks_min: u64,
    n_next: u64,
    n_step: u64,
}

impl Trapezoid {
    fn new(settings: &Settings) -> Self {
        Self { n_tasks_min: settings.n_tasks_min.max(1), n_next: 1, n_step: 0 }
    }
}

impl Policy for Trapezoid {
    fn restart(&mut self, left: &Work) {
        let last = self.n_tasks_min;
        let first = left.n_tasks.div_ceil(2 * u64::from(left.n_workers.max(1))).max(last);
        let n_chunks = (2 * left.n_tasks).div_ceil(first + last);
        self.n_next = first;
        self.n_step = (first - last) / n_chunks.saturating_sub(1).max(1);
    }

    fn next(&mut self, _: &ChunkRequest) -> u64 {
        let n_tasks = self.n_next;
        self.n_next = n_tasks.saturating_sub(self.n_step).max(self.n_tasks_min);
        n_tasks
    }
}
