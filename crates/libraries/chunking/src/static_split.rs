//! `static`: every worker gets the same number of tasks, at once.

use crate::batch::{Batch, Cut};
use crate::policy::{ChunkRequest, Policy, Work};
use crate::registry::PolicySpec;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "static",
    sentence: "every worker gets its equal part at once",
    source: "",
    assumes_known: false,
    make: |_| Box::new(StaticSplit::default()),
};

#[derive(Debug, Default)]
struct StaticSplit {
    parts: Batch,
}

impl Policy for StaticSplit {
    fn restart(&mut self, left: &Work) {
        let Work { n_tasks: n_left, n_workers } = *left;
        self.parts = Batch::of_share(1.0, Cut { n_left, n_workers, n_tasks_min: 1 });
    }

    fn next(&mut self, _: &ChunkRequest) -> u64 {
        self.parts.take()
    }
}
