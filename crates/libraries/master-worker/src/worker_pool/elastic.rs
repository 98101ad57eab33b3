//! Starts and ends workers while the program runs, as [`Growth`] decides.

use super::growth::{Growth, GrowthLimits, PoolAction};
use super::{PoolChange, WorkerDemand, WorkerPool};
use crate::protocol::{MessageHeader, MessageKind, TAG};
use comm::{CommError, Transport};
use std::time::Duration;

/// Longest time for a worker to leave; it has nothing else to do.
const LEAVE: Duration = Duration::from_secs(10);

/// Source of workers.
pub(crate) trait WorkerSource<T> {
    /// Starts `n` workers; returns the rank of each, or why it could not be started.
    fn start(
        &mut self,
        transport: &mut T,
        n: u32,
    ) -> Result<Vec<Result<u32, CommError>>, CommError>;

    /// Frees the place of a worker that was released or is gone.
    fn ended(&mut self, rank: u32) {
        let _ = rank;
    }
}

/// Pool of workers that grows and shrinks; see the module.
#[derive(Debug)]
pub(crate) struct ElasticPool<S> {
    source: S,
    growth: Growth,
    added: Vec<u32>,
    /// Reason why no worker can be started.
    refusal: Option<String>,
    /// True if the refusal was reported.
    is_told: bool,
    /// Number of workers at which it was reported that more do not pay.
    dear_with: Option<u32>,
}

impl<S> ElasticPool<S> {
    /// `refusal` is the reason why no worker can be started, if known.
    pub(crate) fn new(source: S, limits: GrowthLimits, refusal: Option<String>) -> Self {
        let (growth, added) = (Growth::new(limits), Vec::new());
        Self { source, growth, added, refusal, is_told: false, dear_with: None }
    }

    /// Suppresses the report of a refusal, when more workers were not requested.
    pub(crate) fn without_refusal_report(self) -> Self {
        Self { is_told: true, ..self }
    }

    /// Returns the source of the workers.
    pub(crate) fn into_source(self) -> S {
        self.source
    }

    /// Starts `n` workers, and returns the change with a remark.
    fn start<T: Transport>(
        &mut self,
        transport: &mut T,
        n: u32,
        why: &str,
        demand: &WorkerDemand,
    ) -> Result<PoolChange, CommError>
    where
        S: WorkerSource<T>,
    {
        let began_s = transport.now_s();
        let mut n_started = 0;
        for started in self.source.start(transport, n)? {
            match started {
                Ok(rank) => {
                    self.added.push(rank);
                    n_started += 1;
                }
                Err(error) => {
                    self.refusal = Some(error.to_string());
                    self.growth.cool_down(demand.n_iterations);
                }
            }
        }
        let start_s = transport.now_s() - began_s;
        let mut remarks = Vec::new();
        if n_started != 0 {
            self.growth.started(start_s / f64::from(n_started));
            remarks.push(format!("workers: {n_started} started in {start_s:.3} s because {why}"));
        }
        let n_present = u32::try_from(demand.present.len()).unwrap_or(u32::MAX);
        remarks.extend(self.tell(n_present + n_started));
        Ok(PoolChange { left: Vec::new(), remark: remarks.join("; ") })
    }

    /// Releases workers: all are told to end before the first is waited for.
    fn release<T: Transport>(&mut self, transport: &mut T, ranks: &[u32]) -> Result<(), CommError>
    where
        S: WorkerSource<T>,
    {
        let end = MessageHeader::of(MessageKind::End, 0).to_bytes();
        for rank in ranks {
            unless_gone(transport.send(*rank, TAG, &[&end]))?;
        }
        for rank in ranks {
            unless_gone(transport.release(*rank, LEAVE))?;
            self.source.ended(*rank);
        }
        self.added.retain(|rank| !ranks.contains(rank));
        Ok(())
    }

    /// Returns once the remark that no more workers can be started.
    fn tell(&mut self, n_present: u32) -> Option<String> {
        let why = self.refusal.as_ref()?;
        if self.is_told || self.growth.n_max() <= n_present {
            return None;
        }
        self.is_told = true;
        Some(format!(
            "workers: {n_present} at most (those present), some of them parked when fewer are faster; {why}"
        ))
    }
}

impl<T: Transport, S: WorkerSource<T>> WorkerPool<T> for ElasticPool<S> {
    fn n_workers_max(&self, n_present: u32) -> u32 {
        if self.refusal.is_some() { n_present } else { n_present.max(self.growth.n_max()) }
    }

    fn follow(
        &mut self,
        transport: &mut T,
        demand: &WorkerDemand,
    ) -> Result<PoolChange, CommError> {
        let n_present = u32::try_from(demand.present.len()).unwrap_or(u32::MAX);
        self.added.retain(|rank| demand.present.contains(rank));
        if let Some(remark) = self.tell(n_present) {
            return Ok(PoolChange { left: Vec::new(), remark });
        }
        match self.growth.action(demand, &self.added) {
            PoolAction::Start { n, why } if self.refusal.is_none() => {
                self.start(transport, n, &why, demand)
            }
            PoolAction::Release(left) => {
                let began_s = transport.now_s();
                self.release(transport, &left)?;
                self.growth.cool_down(demand.n_iterations);
                let (n, leave_s) = (left.len(), transport.now_s() - began_s);
                let remark = format!(
                    "workers: {n} released in {leave_s:.3} s because the last iterations did not need them"
                );
                Ok(PoolChange { left, remark })
            }
            PoolAction::TooDear { why } if self.dear_with.replace(n_present) != Some(n_present) => {
                let remark = format!("workers: no more are started because {why}");
                Ok(PoolChange { left: Vec::new(), remark })
            }
            PoolAction::Nothing | PoolAction::Start { .. } | PoolAction::TooDear { .. } => {
                Ok(PoolChange::default())
            }
        }
    }
}

/// Ignores a worker that has left already or does not answer.
fn unless_gone(result: Result<(), CommError>) -> Result<(), CommError> {
    match result {
        Err(CommError::Gone { .. } | CommError::NotPresent { .. } | CommError::Late { .. }) => {
            Ok(())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comm::ThreadTransport;

    /// Starts at most `n_left` ranks without a worker behind them.
    struct Ends {
        ends: Vec<ThreadTransport>,
        n_left: u32,
    }

    impl WorkerSource<ThreadTransport> for Ends {
        fn start(
            &mut self,
            transport: &mut ThreadTransport,
            n: u32,
        ) -> Result<Vec<Result<u32, CommError>>, CommError> {
            let mut started = Vec::new();
            for _ in 0..n {
                started.push(match self.n_left.checked_sub(1) {
                    Some(n_left) => {
                        self.n_left = n_left;
                        self.ends.push(transport.add_rank()?);
                        Ok(self.ends[self.ends.len() - 1].rank())
                    }
                    None => Err(CommError::CannotSpawn { why: "the nodes are full".to_owned() }),
                });
            }
            Ok(started)
        }

        fn ended(&mut self, rank: u32) {
            self.ends.retain(|end| end.rank() != rank);
        }
    }

    fn elastic(n_left: u32, refusal: Option<&str>) -> (ThreadTransport, ElasticPool<Ends>) {
        let limits = GrowthLimits { n_max: 4, n_to_come: None, start_s: 0.1 };
        let master = comm::threads(1).remove(0);
        let source = Ends { ends: Vec::new(), n_left };
        (master, ElasticPool::new(source, limits, refusal.map(str::to_owned)))
    }

    fn demand(n_workers: u32, present: &[u32]) -> WorkerDemand {
        let (present, idle) = (present.to_vec(), present.to_vec());
        WorkerDemand { n_workers, present, idle, ..WorkerDemand::default() }
    }

    #[test]
    fn workers_are_started_and_let_go() {
        let (mut master, mut elastic) = elastic(9, None);
        assert_eq!(elastic.n_workers_max(0), 4);
        let change = elastic.follow(&mut master, &demand(9, &[])).unwrap();
        assert!(change.remark.starts_with("workers: 4 started in "), "{}", change.remark);
        assert!(change.remark.ends_with(" because this number was requested"), "{}", change.remark);
        // The workers leave before they are told to.
        elastic.source.ends.iter_mut().for_each(|end| end.leave(LEAVE).unwrap());
        for _ in 0..4 {
            let change = elastic.follow(&mut master, &demand(2, &[1, 2, 3, 4])).unwrap();
            assert_eq!(change, PoolChange::default());
        }
        let change = elastic.follow(&mut master, &demand(2, &[1, 2, 3, 4])).unwrap();
        // Four workers were wanted within the last iterations.
        assert_eq!(change.left, [3, 4]);
        assert_eq!((elastic.source.ends.len(), &elastic.added[..]), (2, &[1, 2][..]));
    }

    #[test]
    fn a_refusal_is_told_once_and_bounds_the_number() {
        let (mut master, mut elastic) = elastic(1, None);
        let change = elastic.follow(&mut master, &demand(4, &[])).unwrap();
        assert!(change.remark.contains("1 started"), "{}", change.remark);
        assert!(change.remark.contains("; workers: 1 at most ("), "{}", change.remark);
        assert!(change.remark.ends_with("no rank can be added: the nodes are full"));
        assert_eq!(elastic.n_workers_max(1), 1);
        assert_eq!(elastic.follow(&mut master, &demand(4, &[1])).unwrap(), PoolChange::default());
    }

    #[test]
    fn what_is_known_to_fail_is_told_at_once_where_it_matters() {
        let (mut master, mut few) = elastic(1, Some("no rank can be added: no"));
        let remark = few.follow(&mut master, &demand(1, &[1])).unwrap().remark;
        assert!(remark.starts_with("workers: 1 at most (those present)"), "{remark}");
        let (mut master, mut enough) = elastic(1, Some("no"));
        let change = enough.follow(&mut master, &demand(4, &[1, 2, 3, 4])).unwrap();
        assert_eq!(change, PoolChange::default());
    }
}
