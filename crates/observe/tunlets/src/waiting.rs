//! `waiting`: ranks that wait in MPI keep cores busy that others need, in any program.
//!
//! Where several ranks share a core, or ranks stand in line for a core while others wait in MPI, waiting ranks give
//! their cores away; taken back once there are enough cores again. Where a quota is short, they do so in long waits, which use it up:
//! cores for all are there.
//!
//! # Invariants
//! - It decides at once where ranks outnumber cores or stand in line for most of their time, and after [`N_SEEN`] reports where only
//!   shorter queues tell of a shortage.

use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Decision, Detail, Guide, News, Performance, PointNeed, RankUsage, Requests, Tunlet,
    TunletError, TunletSpec, World,
};
use app_description::Application;
use display::units::percent;

pub(crate) const NAME: &str = "waiting";

/// Guide for users of [`Waiting`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "lets ranks that wait in MPI give their cores away until something arrives",
    iteration: "none, and no description: `sintonia run --tune=waiting`",
    events: &[],
    points: &[PointNeed {
        name: NAME,
        meaning: "a lever of `--tune`: 1 yields, 2 sleeps, 3 sleeps when needed, 4 sleeps in long waits",
    }],
};

/// Values of the lever: as the library waits; sleeping between polls; the same once the core was lost; the same in long waits.
const OFF: f64 = 0.0;
const SLEEP: f64 = 2.0;
const SLEEP_WHEN_LOST: f64 = 3.0;
const SLEEP_LATE: f64 = 4.0;
/// Reports in a row that have to tell the same where no rank shares a core by design.
const N_SEEN: u32 = 2;
/// Reports in a row without a shortage before it is taken back.
const N_CALM: u32 = 20;
/// Ranks per core from which on they share it.
const CROWDED: f64 = 1.05;
/// Share of its time that a rank stands in line for a core, from which on that is a shortage.
const IN_LINE: f64 = 0.1;
/// The same from which on one report is enough.
pub(crate) const LONG_IN_LINE: f64 = 0.4;
/// Share of their time in MPI from which on ranks wait.
const IN_MPI: f64 = 0.1;
/// Cores of others that count as a foreign load.
const FOREIGN: f64 = 0.1;

/// The `waiting` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Waiting {
    point: Option<KnownPoint>,
    n_short: u32,
    n_calm: u32,
    rest: Rest,
}

impl Tunlet for Waiting {
    fn spec(&self) -> TunletSpec {
        GUIDE.spec(NAME, "ranks that wait in MPI occupy cores that other ranks need", &[])
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let point = Lookup { tunlet: NAME, application, world }.point(NAME)?;
        let (points, rest) = (vec![point.position], Rest::first(point.past));
        *self = Self { point: Some(point), rest, ..Self::default() };
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: true, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let Some(point) = &mut self.point else { return };
        match news {
            News::Performance(performance) => decisions.extend(self.judge(performance)),
            News::Applied(applied) if applied.point == point.position => point.applied(applied.new),
            News::Declined { point: declined, .. } if *declined == point.position => {
                point.declined();
                self.rest.begin();
            }
            _ => {}
        }
    }
}

impl Waiting {
    fn judge(&mut self, performance: &Performance) -> Option<Decision> {
        self.rest.pass();
        let shortage = shortage(&performance.usage);
        let point = self.point.as_mut().filter(|point| !point.is_waiting)?;
        if point.value.is_some_and(|value| value != OFF) {
            let is_calm = is_calm(&performance.usage);
            self.n_calm = if is_calm { self.n_calm + 1 } else { 0 };
            let is_over = N_CALM <= self.n_calm;
            return is_over.then(|| point.ask(OFF, "there are cores for all ranks again"));
        }
        let Some(shortage) = shortage else {
            self.n_short = 0;
            return None;
        };
        self.n_short += 1;
        let is_due = shortage.n_seen <= self.n_short;
        if !is_due || self.rest.is_resting() {
            return None;
        }
        (self.n_short, self.n_calm) = (0, 0);
        Some(point.ask(shortage.value, &shortage.reason))
    }
}

/// A shortage of cores: the value that answers it, and the number of reports in a row that have to tell it.
#[derive(Debug)]
struct Shortage {
    reason: String,
    value: f64,
    n_seen: u32,
}

/// Returns the shortage of the node where it is worst.
fn shortage(usage: &[RankUsage]) -> Option<Shortage> {
    let on_core = RankUsage::ranks_per_bound_core;
    let crowded = usage.iter().max_by(|a, b| on_core(a).total_cmp(&on_core(b)))?;
    if CROWDED < on_core(crowded) {
        let of_node = usage.iter().filter(|other| other.node == crowded.node).count();
        let share = on_core(crowded);
        let reason = format!("{share:.1} ranks share a core on a node with {of_node} ranks");
        return Some(Shortage { reason, value: SLEEP, n_seen: 1 });
    }
    let most = usage.iter().max_by(|a, b| a.runqueue.total_cmp(&b.runqueue))?;
    let waiting = usage.iter().filter(|other| other.node == most.node && IN_MPI < other.mpi);
    let n_waiting = waiting.count();
    (IN_LINE < most.runqueue && n_waiting != 0).then(|| {
        let in_line = percent(most.runqueue);
        let rank = most.rank.0;
        let reason = format!(
            "rank {rank} stands in line for a core {in_line} of the time, while {n_waiting} ranks of its node wait in MPI"
        );
        let n_seen = if LONG_IN_LINE < most.runqueue { 1 } else { N_SEEN };
        let value = if most.has_quota() { SLEEP_LATE } else { SLEEP_WHEN_LOST };
        Shortage { reason, value, n_seen }
    })
}

/// Returns whether every rank has a core to itself.
fn is_calm(usage: &[RankUsage]) -> bool {
    usage.iter().all(|rank| {
        rank.ranks_per_core <= CROWDED && rank.foreign < FOREIGN && rank.runqueue < IN_LINE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Applied;
    use events::{Lever, Value};

    fn begun() -> Waiting {
        let mut application = Application::default();
        application.add_levers(&[Lever::Waiting]);
        let mut tunlet = Waiting::default();
        tunlet.begin(&application, &World::default()).unwrap();
        tunlet
    }

    fn rank(ranks_per_core: f64, runqueue: f64, mpi: f64) -> RankUsage {
        RankUsage { ranks_per_core, runqueue, mpi, ..RankUsage::default() }
    }

    /// Two ranks in a quota of one core kept each other waiting by sleeps that cost more than their short waits: a halo exchange took
    /// 1.5 times as long.
    #[test]
    fn where_a_quota_is_short_only_long_waits_sleep() {
        let limited = RankUsage { cores_allowed: 1.0, cores_bound: 2.0, ..rank(2.0, 0.5, 0.5) };
        check(limited, 1, &[4]);
        check(RankUsage { runqueue: 0.0, ..limited }, 9, &[]);
        check(RankUsage { cores_bound: 1.0, ..limited }, 1, &[2]);
    }

    /// Returns the values that the tunlet asks for, report by report.
    fn asked(tunlet: &mut Waiting, usage: RankUsage, n_reports: usize) -> Vec<i64> {
        let performance = Performance { usage: vec![usage], ..Performance::default() };
        let mut asked = Vec::new();
        for _ in 0..n_reports {
            let mut decisions = Vec::new();
            tunlet.hear(&News::Performance(performance.clone()), &mut decisions);
            asked.extend(decisions.iter().filter_map(|decision| decision.value.as_integer()));
        }
        asked.into_iter().filter_map(|value| i64::try_from(value).ok()).collect()
    }

    #[track_caller]
    fn check(usage: RankUsage, n_reports: usize, expected: &[i64]) {
        assert_eq!(asked(&mut begun(), usage, n_reports), expected);
    }

    #[test]
    fn ranks_that_share_a_core_give_it_away_at_once() {
        check(rank(4.0, 0.0, 0.0), 1, &[2]);
        check(rank(1.0, 0.0, 0.9), 9, &[]);
    }

    #[test]
    fn a_queue_counts_while_ranks_wait_and_if_it_lasts() {
        check(rank(1.0, 0.3, 0.5), 1, &[]);
        check(rank(1.0, 0.3, 0.5), 2, &[3]);
        check(rank(1.0, 0.5, 0.5), 1, &[3]);
        check(rank(1.0, 0.5, 0.0), 9, &[]);
    }

    #[test]
    fn it_is_taken_back_after_the_shortage() {
        let mut tunlet = begun();
        assert_eq!(asked(&mut tunlet, rank(2.0, 0.0, 0.0), 1), [2]);
        let (old, new) = (Value::Int(0), Value::Int(2));
        let applied = Applied { point: 0, old, new, time_s: 0.0, hit: 0, is_own: true };
        tunlet.hear(&News::Applied(applied), &mut Vec::new());
        assert_eq!(asked(&mut tunlet, rank(2.0, 0.0, 0.0), 99), [0_i64; 0]);
        assert_eq!(asked(&mut tunlet, rank(1.0, 0.0, 0.0), 19), [0_i64; 0]);
        assert_eq!(asked(&mut tunlet, rank(1.0, 0.0, 0.0), 1), [0]);
    }
}
