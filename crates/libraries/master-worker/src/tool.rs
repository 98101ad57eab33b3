//! The dealing policy as outside tools see it: it reports batches to them, and they may set shares
//! instead.

use crate::tuning_points::{self, Claim};
use chunking::{ChunkRequest, Completed, Policy, TaskSet, Work};
use std::ops::Range;
use std::sync::Arc;

/// Policy under observation by tools.
///
/// Once a tool has set a share, batch 0 gets the first share of the tasks left, batch 1 the second,
/// and each later batch the third, in as many equal chunks as there are workers.
#[derive(Debug)]
pub(crate) struct Observed {
    own: Box<dyn Policy>,
    claim: Arc<Claim>,
    n_workers: u64,
    n_chunks_dealt: u64,
    /// Tasks per chunk of this batch, when a tool has set its share.
    from_outside: Option<u64>,
}

impl Observed {
    pub(crate) fn new(own: Box<dyn Policy>, claim: Arc<Claim>) -> Self {
        Self { own, claim, n_workers: 1, n_chunks_dealt: 0, from_outside: None }
    }

    /// Counts a request; the first of a batch tells tools about it.
    fn note(&mut self, request: &ChunkRequest) {
        if self.n_chunks_dealt.is_multiple_of(self.n_workers) {
            self.begin_batch(self.n_chunks_dealt / self.n_workers, request.n_left);
        }
        self.n_chunks_dealt += 1;
    }

    fn begin_batch(&mut self, batch: u64, n_left: u64) {
        let n_workers = self.n_workers;
        let mut from_outside = None;
        tuning_points::new_batch(u32::try_from(batch).unwrap_or(u32::MAX), &mut || {
            let share = self.claim.shares().map(|[first, second, later]| match batch {
                0 => first,
                1 => second,
                _ => later,
            });
            from_outside = share.map(|share| chunk_of(share, n_left, n_workers));
            n_workers
        });
        self.from_outside = from_outside;
    }
}

impl Policy for Observed {
    fn begin(&mut self, work: &Work) {
        self.n_workers = u64::from(work.n_workers.max(1));
        self.n_chunks_dealt = 0;
        self.own.begin(work);
    }

    fn restart(&mut self, left: &Work) {
        self.own.restart(left);
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        self.note(request);
        self.from_outside.unwrap_or_else(|| self.own.next(request))
    }

    fn pick(&mut self, request: &ChunkRequest, left: &TaskSet) -> Range<u64> {
        self.note(request);
        match self.from_outside {
            Some(n_tasks) => left.first_few(n_tasks),
            None => self.own.pick(request, left),
        }
    }

    fn returned(&mut self, tasks: Range<u64>) {
        self.own.returned(tasks);
    }

    fn completed(&mut self, done: &Completed) {
        self.own.completed(done);
    }

    fn left(&mut self, worker: u32) {
        self.own.left(worker);
    }
}

/// Shares that come nearest to a policy.
pub(crate) fn shares_of(policy: &str) -> [f64; 3] {
    if policy == "static" { [1.0; 3] } else { [0.5; 3] }
}

/// Smallest share of the tasks left in a batch; tools may set any value.
const SHARE_MIN: f64 = 0.001;

#[expect(clippy::cast_possible_truncation, reason = "a share of a whole number lies below it")]
#[expect(clippy::cast_sign_loss, reason = "neither factor is negative")]
fn chunk_of(share: f64, n_left: u64, n_workers: u64) -> u64 {
    let share = if share.is_nan() { 1.0 } else { share.clamp(SHARE_MIN, 1.0) };
    let n_in_batch = (share * n_left as f64) as u64;
    n_in_batch.div_ceil(n_workers).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, n_left: u64, n_workers: u64, expected: u64) {
        assert_eq!(chunk_of(share, n_left, n_workers), expected);
    }

    #[test]
    fn whatever_is_set_a_chunk_has_tasks() {
        check(0.5, 100, 5, 10);
        check(1.0, 100, 3, 34);
        check(9.0, 100, 3, 34);
        check(f64::NAN, 100, 3, 34);
        check(-1.0, 100, 3, 1);
        check(0.5, 1, 3, 1);
    }

    #[test]
    fn shares_count_once_somebody_set_one() {
        let claim = Arc::new(tuning_points::claim([0.5; 3]).unwrap());
        let spec = chunking::by_name("ss").unwrap();
        let own = spec.policy(&chunking::Settings::default());
        let mut policy = Observed::new(own, Arc::clone(&claim));
        let deal = |policy: &mut Observed| {
            policy.begin(&Work { n_tasks: 100, n_workers: 2 });
            let mut n_left = 100;
            let next = || {
                let request =
                    ChunkRequest { worker: 1, n_left, n_workers: 2, ..ChunkRequest::default() };
                let n_tasks = policy.next(&request);
                n_left -= n_tasks;
                n_tasks
            };
            std::iter::repeat_with(next).take(6).collect::<Vec<_>>()
        };
        assert_eq!(deal(&mut policy), [1; 6]);
        claim.set_shares([0.4, 0.5, 1.0]);
        assert_eq!(deal(&mut policy), [20, 20, 15, 15, 15, 15]);
    }
}
