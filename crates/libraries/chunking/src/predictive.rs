//! `dpf`: dynamic predictive factoring, with a fixed share of the remaining tasks in each batch.
//!
//! Each batch has as many equal chunks as there are workers (Martínez 2010).
//! Where chunks would be below the smallest size, the remaining tasks are dealt in chunks of that size.
//!
//! # Invariants
//! - The chunks of [`chunks`] sum to the tasks, and none is empty.

use crate::batch::{Batch, Cut};
use crate::policy::{ChunkRequest, Policy, Work};
use crate::registry::PolicySpec;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "dpf",
    sentence: "dynamic predictive factoring: batches of a fixed share of what is left",
    source: "Martínez 2010, Sintonización dinámica de aplicaciones MPI",
    assumes_known: false,
    make: |settings| {
        let (share, n_tasks_min) = (settings.share, settings.n_tasks_min);
        Box::new(Predictive { share, n_tasks_min, batch: Batch::default() })
    },
};

#[derive(Debug)]
struct Predictive {
    share: f64,
    n_tasks_min: u64,
    batch: Batch,
}

impl Policy for Predictive {
    fn restart(&mut self, _: &Work) {
        self.batch = Batch::default();
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        if self.batch.n_chunks() == 0 {
            let ChunkRequest { n_left, n_workers, .. } = *request;
            let cut = Cut { n_left, n_workers, n_tasks_min: self.n_tasks_min };
            self.batch = Batch::of_share(self.share, cut);
        }
        self.batch.take()
    }
}

/// Consecutive tasks for one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Index of its batch, from 0.
    pub batch: u64,
    /// Index of its first task.
    pub first: u64,
    /// Number of tasks.
    pub n_tasks: u64,
}

/// Returns the chunks of an iteration in the order in which they are dealt. The shares of the remaining
/// tasks are for batch 0, batch 1 and each later batch; a share of 1 or more takes everything.
pub fn chunks(shares: [f64; 3], all: Work, n_tasks_min: u64) -> Vec<Chunk> {
    let (mut dealt, mut chunks) = (0, Vec::new());
    for batch in 0.. {
        let n_left = all.n_tasks - dealt;
        if n_left == 0 {
            break;
        }
        let share = shares[usize::try_from(batch).unwrap_or(2).min(2)];
        let cut = Cut { n_left, n_workers: all.n_workers, n_tasks_min };
        let mut of_batch = Batch::of_share(share, cut);
        while of_batch.n_chunks() != 0 {
            let chunk = Chunk { batch, first: dealt, n_tasks: of_batch.take() };
            dealt += chunk.n_tasks;
            chunks.push(chunk);
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(shares: [f64; 3], n_tasks: u64, n_workers: u32, expected: &[u64]) {
        let dealt = chunks(shares, Work { n_tasks, n_workers }, 10);
        let sizes: Vec<u64> = dealt.iter().map(|chunk| chunk.n_tasks).collect();
        assert_eq!(sizes, expected);
    }

    #[test]
    fn batches_are_dealt_in_equal_chunks() {
        check([1.0; 3], 100, 3, &[34, 33, 33]);
        check([0.5; 3], 100, 2, &[25, 25, 13, 12, 9, 8, 8]);
        check([0.6, 0.5, 1.0], 100, 2, &[30, 30, 10, 10, 10, 10]);
        check([f64::NAN; 3], 2, 4, &[1, 1]);
        check([0.5; 3], 0, 2, &[]);
    }

    proptest! {
        #[test]
        fn chunks_sum_to_the_tasks(
            shares in prop::array::uniform3(-0.5..1.5),
            n_tasks in 0..100_000_u64,
            n_workers in 0..50_u32,
            smallest in 0..200_u64,
        ) {
            let mut next = 0;
            for chunk in chunks(shares, Work { n_tasks, n_workers }, smallest) {
                prop_assert_eq!(chunk.first, next);
                prop_assert!(0 < chunk.n_tasks);
                next += chunk.n_tasks;
            }
            prop_assert_eq!(next, n_tasks);
        }
    }
}
