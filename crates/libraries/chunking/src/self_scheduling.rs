//! `ss`: self-scheduling, one task at a time.

use crate::policy::{ChunkRequest, Policy, Work};
use crate::registry::PolicySpec;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "ss",
    sentence: "self-scheduling: one task at a time",
    source: "",
    assumes_known: false,
    make: |settings| Box::new(SelfScheduling { n_tasks_min: settings.n_tasks_min }),
};

#[derive(Debug)]
struct SelfScheduling {
    n_tasks_min: u64,
}

impl Policy for SelfScheduling {
    fn restart(&mut self, _: &Work) {}

    fn next(&mut self, _: &ChunkRequest) -> u64 {
        self.n_tasks_min
    }
}
