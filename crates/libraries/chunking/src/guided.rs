//! `gss`: guided self-scheduling, an equal part of the remaining tasks at every request.

use crate::policy::{ChunkRequest, Policy, Work};
use crate::registry::PolicySpec;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "gss",
    sentence: "guided self-scheduling: an equal part of what is left",
    source: "Polychronopoulos and Kuck, IEEE Transactions on Computers C-36, 1987",
    assumes_known: false,
    make: |settings| Box::new(Guided { n_tasks_min: settings.n_tasks_min }),
};

#[derive(Debug)]
struct Guided {
    n_tasks_min: u64,
}

impl Policy for Guided {
    fn restart(&mut self, _: &Work) {}

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        request.n_left.div_ceil(request.n_workers.into()).max(self.n_tasks_min)
    }
}
