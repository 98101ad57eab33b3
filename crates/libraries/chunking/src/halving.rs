//! `fac2`: factoring by two, with chunks of `M/N * (1/2)^(j+1)` tasks in batch `j`.

use crate::policy::{ChunkRequest, Policy, Settings, Work};
use crate::registry::PolicySpec;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "fac2",
    sentence: "factoring by two: batches of equal chunks, each half as large as before",
    source: "Hummel, Schonberg and Flynn, Communications of the ACM 35(8), 1992",
    assumes_known: false,
    make: |settings| Box::new(Halving::new(settings)),
};

#[derive(Debug)]
struct Halving {
    n_tasks_min: u64,
    /// Tasks and workers at the start, from which chunk sizes are computed.
    all: Work,
    /// Number of chunks of the current size that would make up all tasks.
    n_parts: u64,
    n_chunks: u32,
}

impl Halving {
    fn new(settings: &Settings) -> Self {
        let all = Work { n_tasks: 1, n_workers: 1 };
        Self { n_tasks_min: settings.n_tasks_min, all, n_parts: 1, n_chunks: 0 }
    }
}

impl Policy for Halving {
    fn restart(&mut self, left: &Work) {
        self.all = Work { n_tasks: left.n_tasks, n_workers: left.n_workers.max(1) };
        self.n_parts = u64::from(self.all.n_workers);
        self.n_chunks = 0;
    }

    fn next(&mut self, _: &ChunkRequest) -> u64 {
        if self.n_chunks == 0 {
            self.n_chunks = self.all.n_workers;
            self.n_parts = self.n_parts.saturating_mul(2);
        }
        self.n_chunks -= 1;
        self.all.n_tasks.div_ceil(self.n_parts).max(self.n_tasks_min)
    }
}
