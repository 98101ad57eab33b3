//! Decides when workers are started and when they are released.
//!
//! Starting a worker costs time, which is measured each time. More are started when their gain over the
//! iterations to come exceeds that cost: as many as make the difference greatest. The number of iterations to
//! come is unknown; it is assumed to be that of the iterations done so far, and at least ten. So a run that
//! ends at the worst moment has lost no more than it had gained.
//!
//! Workers requested by the options or by an outside tool are started without this calculation.
//!
//! A worker is released when it was not wanted in any of the last iterations.
//!
//! # Invariants
//! - Pure: times are arguments.
//! - A worker that holds work, or was present from the start, is never released.
//! - After workers were released, or could not be started, a few iterations pass before others are started.

use super::WorkerDemand;
use std::collections::VecDeque;

/// Consecutive iterations without need for a worker before it is released.
const N_IDLE: usize = 5;
/// Iterations after a release or a failed start before more workers are started.
const N_COOL: u64 = 5;
/// Smallest assumed number of iterations to come.
const N_TO_COME_MIN: u64 = 10;
/// Number of starts over which the cost is averaged.
const N_STARTS: usize = 8;

/// Limits on starting workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GrowthLimits {
    /// Largest number of workers.
    pub(crate) n_max: u32,
    /// Number of iterations to come; `None` for the rule of this module.
    pub(crate) n_to_come: Option<u64>,
    /// Expected cost of starting a worker before one was started, in seconds.
    pub(crate) start_s: f64,
}

/// Rule for starting and releasing workers; see the module.
#[derive(Debug)]
pub(crate) struct Growth {
    limits: GrowthLimits,
    starts_s: VecDeque<f64>,
    /// Numbers of workers wanted in the last iterations.
    wanted: VecDeque<u32>,
    /// First iteration at which workers may be started again.
    not_before: u64,
}

/// Decision of one iteration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PoolAction {
    Nothing,
    /// Start `n` workers.
    Start {
        n: u32,
        why: String,
    },
    /// Start none, as they would gain less than they cost.
    TooDear {
        why: String,
    },
    /// Release these ranks.
    Release(Vec<u32>),
}

impl Growth {
    pub(crate) fn new(limits: GrowthLimits) -> Self {
        let (starts_s, wanted) = (VecDeque::new(), VecDeque::new());
        Self { limits, starts_s, wanted, not_before: 0 }
    }

    pub(crate) fn n_max(&self) -> u32 {
        self.limits.n_max
    }

    /// Mean cost of starting a worker, in seconds.
    pub(crate) fn start_s(&self) -> f64 {
        match self.starts_s.len() {
            0 => self.limits.start_s,
            n => self.starts_s.iter().sum::<f64>() / n as f64,
        }
    }

    /// Adds the measured cost of starting a worker, in seconds.
    pub(crate) fn started(&mut self, start_s: f64) {
        self.starts_s.push_back(start_s);
        if N_STARTS < self.starts_s.len() {
            self.starts_s.pop_front();
        }
    }

    /// Blocks starts for a while after workers were released or could not be started.
    pub(crate) fn cool_down(&mut self, n_iterations: u64) {
        self.not_before = n_iterations + N_COOL;
    }

    /// Returns the next step; `added` are the ranks started during the run. Called once for each iteration.
    pub(crate) fn action(&mut self, demand: &WorkerDemand, added: &[u32]) -> PoolAction {
        self.wanted.push_back(demand.n_workers);
        if N_IDLE < self.wanted.len() {
            self.wanted.pop_front();
        }
        let n_present = u32::try_from(demand.present.len()).unwrap_or(u32::MAX);
        let n_wanted = demand.n_workers.min(self.limits.n_max);
        if n_present < n_wanted {
            return match demand.n_iterations < self.not_before {
                true => PoolAction::Nothing,
                false => self.start(demand, n_present, n_wanted),
            };
        }
        let superfluous = self.superfluous(demand, added);
        if superfluous.is_empty() { PoolAction::Nothing } else { PoolAction::Release(superfluous) }
    }

    fn start(&self, demand: &WorkerDemand, n_present: u32, n_wanted: u32) -> PoolAction {
        let Some(forecast) = demand.forecast else {
            let n = n_wanted - n_present;
            return PoolAction::Start { n, why: "this number was requested".to_owned() };
        };
        let n_to_come = self.limits.n_to_come.unwrap_or(demand.n_iterations.max(N_TO_COME_MIN));
        let start_s = self.start_s();
        let cost_s = |n_workers: u32| f64::from(n_workers - n_present) * start_s;
        let net_s = |n: u32| n_to_come as f64 * forecast.gain_s(n) - cost_s(n);
        let better = |best: u32, n: u32| if net_s(best) < net_s(n) { n } else { best };
        let best = (n_present + 1..=n_wanted).fold(n_present + 1, better);
        let why = format!(
            "{n_to_come} more iterations would gain {:.3} s, and starting costs {:.3} s",
            n_to_come as f64 * forecast.gain_s(best),
            cost_s(best)
        );
        match 0.0 < net_s(best) {
            true => PoolAction::Start { n: best - n_present, why },
            false => PoolAction::TooDear { why },
        }
    }

    /// Added workers that exceeded every number wanted in the last iterations.
    fn superfluous(&self, demand: &WorkerDemand, added: &[u32]) -> Vec<u32> {
        if self.wanted.len() < N_IDLE {
            return Vec::new();
        }
        let n_kept = self.wanted.iter().copied().max().unwrap_or(u32::MAX) as usize;
        let beyond = demand.present.iter().skip(n_kept).copied();
        beyond.filter(|rank| added.contains(rank) && demand.idle.contains(rank)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_pool::Forecast;
    use proptest::prelude::*;

    fn limits(n_max: u32) -> GrowthLimits {
        GrowthLimits { n_max, n_to_come: None, start_s: 0.1 }
    }

    fn demand(n_workers: u32, n_present: u32, n_iterations: u64) -> WorkerDemand {
        let present: Vec<u32> = (1..=n_present).collect();
        WorkerDemand { n_workers, n_iterations, idle: present.clone(), present, forecast: None }
    }

    /// Checks how many of `n_wanted` are started when 2 are present and an iteration computes for `compute_s`.
    #[track_caller]
    fn check(n_wanted: u32, compute_s: f64, n_iterations: u64, n_started: u32) {
        let forecast = Some(Forecast { n_workers: 2, compute_s, message_s: 0.0 });
        let demand = WorkerDemand { forecast, ..demand(n_wanted, 2, n_iterations) };
        let found = match Growth::new(limits(10)).action(&demand, &[]) {
            PoolAction::Start { n, .. } => n,
            PoolAction::TooDear { .. } => 0,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, n_started);
    }

    #[test]
    fn workers_are_started_that_gain_more_than_they_cost() {
        check(8, 100.0, 1, 6);
        check(20, 100.0, 1, 8);
        // Two of them save 10 * 0.25 * 0.16 s, and cost 2 * 0.1 s; a third one costs more than it saves.
        check(8, 0.16, 1, 2);
        check(8, 0.16, 100, 6);
        check(8, 0.01, 1, 0);
    }

    #[test]
    fn what_somebody_wants_is_started_without_reckoning() {
        let step = Growth::new(limits(5)).action(&demand(8, 2, 0), &[]);
        assert_eq!(step, PoolAction::Start { n: 3, why: "this number was requested".to_owned() });
        assert_eq!(Growth::new(limits(2)).action(&demand(8, 2, 0), &[]), PoolAction::Nothing);
    }

    #[test]
    fn the_cost_is_what_starts_have_taken() {
        let mut growth = Growth::new(limits(9));
        assert!((growth.start_s() - 0.1).abs() < 1e-12);
        (0..20).for_each(|_| growth.started(0.5));
        assert!((growth.start_s() - 0.5).abs() < 1e-12);
        assert_eq!(growth.starts_s.len(), N_STARTS);
    }

    /// Checks which of ranks 1 to 6, of which 3 to 6 were added, are released after these wishes.
    #[track_caller]
    fn check_release(wanted: &[u32], idle: &[u32], expected: &[u32]) {
        let mut growth = Growth::new(limits(9));
        let mut last = PoolAction::Nothing;
        for n_workers in wanted {
            let demand = WorkerDemand { idle: idle.to_vec(), ..demand(*n_workers, 6, 9) };
            last = growth.action(&demand, &[3, 4, 5, 6]);
        }
        let nothing = expected.is_empty();
        assert_eq!(
            last,
            if nothing { PoolAction::Nothing } else { PoolAction::Release(expected.to_vec()) }
        );
    }

    #[test]
    fn who_was_superfluous_for_long_is_let_go() {
        let all = [1, 2, 3, 4, 5, 6];
        check_release(&[4; 5], &all, &[5, 6]);
        check_release(&[4; 4], &all, &[]);
        check_release(&[4, 4, 5, 4, 4], &all, &[6]);
        check_release(&[6, 4, 4, 4, 4, 4], &all, &[5, 6]);
        check_release(&[1; 5], &all, &[3, 4, 5, 6]);
        check_release(&[1; 5], &[1, 2, 4, 6], &[4, 6]);
    }

    #[test]
    fn nothing_is_started_just_after_some_were_let_go() {
        let mut growth = Growth::new(limits(9));
        growth.cool_down(10);
        assert_eq!(growth.action(&demand(4, 2, 14), &[]), PoolAction::Nothing);
        assert!(matches!(growth.action(&demand(4, 2, 15), &[]), PoolAction::Start { n: 2, .. }));
    }

    proptest! {
        #[test]
        fn nobody_who_works_is_let_go_and_the_limit_holds(
            wishes in prop::collection::vec((1u32..12, 0u32..10, 0u32..64), 1..30),
            n_max in 1u32..12,
        ) {
            let mut growth = Growth::new(limits(n_max));
            for (number, (n_workers, n_present, idle_bits)) in (0..).zip(wishes) {
                let mut demand = demand(n_workers, n_present, number);
                demand.idle.retain(|rank| idle_bits & (1 << rank) != 0);
                match growth.action(&demand, &[4, 5, 6, 7]) {
                    PoolAction::Start { n, .. } => {
                        prop_assert!(n_present + n <= n_max.min(n_workers));
                    }
                    PoolAction::Release(ranks) => {
                        let may = |rank| demand.idle.contains(rank) && (4..=7).contains(rank);
                        prop_assert!(ranks.iter().all(may));
                        let n_left = demand.present.len() - ranks.len();
                        prop_assert!(n_workers.min(n_present) as usize <= n_left);
                    }
                    PoolAction::Nothing | PoolAction::TooDear { .. } => {}
                }
            }
        }
    }
}
