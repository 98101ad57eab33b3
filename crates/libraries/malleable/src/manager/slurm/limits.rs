//! Time limits of companions: which nodes have to be left before Slurm takes them.
//!
//! A companion is submitted for the time that the program's job has left, so it usually ends after it. It ends earlier where
//! a partition allows less time, or when somebody gives the program's job more. The limits are heard when a companion
//! starts; shortly before the end of one, Slurm is asked once whether it still holds.
//!
//! # Invariants
//! - Pure: time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Node, and the companion that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lent {
    pub(super) job: u64,
    pub(super) node: String,
    /// Time limit of the companion, as last heard.
    pub(super) ends: Option<Instant>,
}

/// Time limits of the program's own job and of its companions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TimeLimits {
    pub(super) own: Option<Instant>,
    /// Companions that have a limit.
    pub(super) companions: BTreeMap<u64, Instant>,
}

/// Knowledge about the limits.
#[derive(Debug, Default)]
pub(super) struct KnownLimits {
    own: Option<Instant>,
    /// Companions whose limits were confirmed shortly before their end.
    confirmed: BTreeSet<u64>,
    is_asked: bool,
}

impl KnownLimits {
    /// Adopts the reply of Slurm.
    pub(super) fn hear(&mut self, limits: &TimeLimits, lent: &mut [Lent], by: Instant) {
        (self.own, self.is_asked) = (limits.own, false);
        for lent in &mut *lent {
            lent.ends = limits.companions.get(&lent.job).copied();
        }
        self.confirmed = lent.iter().filter(|lent| is_due(lent, by)).map(|lent| lent.job).collect();
    }

    /// Returns whether Slurm is to be asked now, as a limit that nobody has confirmed comes before `by`.
    pub(super) fn take_question(&mut self, lent: &[Lent], by: Instant) -> bool {
        let is_open = |lent: &Lent| is_due(lent, by) && !self.confirmed.contains(&lent.job);
        let is_new = !self.is_asked && lent.iter().any(is_open);
        self.is_asked |= is_new;
        is_new
    }

    /// Time left on a node that has to be left now; `None` for others. Where the program's job ends as well, nothing is
    /// gained.
    pub(super) fn ends_in(&self, lent: &Lent, now: Instant) -> Option<Duration> {
        let ends = lent.ends.filter(|_| self.confirmed.contains(&lent.job))?;
        self.own.is_none_or(|own| ends < own).then(|| ends.saturating_duration_since(now))
    }
}

fn is_due(lent: &Lent, by: Instant) -> bool {
    lent.ends.is_some_and(|ends| ends <= by)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Checks what is left of two companions that end after 60 s and 600 s at a time, 30 s before which nodes are left,
    /// if Slurm replies with these limits, in seconds.
    #[track_caller]
    fn check(at_s: u64, own_s: Option<u64>, first_s: Option<u64>, expected: Option<u64>) {
        let start = Instant::now();
        let lent = |job, ends| Lent { job, node: format!("n{job}"), ends: Some(start + s(ends)) };
        let (mut lent, mut known) = ([lent(1, 60), lent(2, 600)], KnownLimits::default());
        let (now, by) = (start + s(at_s), start + s(at_s + 30));
        let is_asked = known.take_question(&lent, by);
        assert_eq!((is_asked, known.take_question(&lent, by)), (30 <= at_s, false));
        if is_asked {
            assert_eq!(known.ends_in(&lent[0], now), None);
            let of_first = first_s.map(|end| (1, start + s(end)));
            let companions = of_first.into_iter().chain([(2, start + s(600))]).collect();
            let limits = TimeLimits { own: own_s.map(|end| start + s(end)), companions };
            known.hear(&limits, &mut lent, by);
            assert!(!known.take_question(&lent, by));
        }
        assert_eq!(known.ends_in(&lent[0], now), expected.map(s));
        assert_eq!(known.ends_in(&lent[1], now), None);
    }

    #[test]
    fn a_node_is_left_before_the_limit_of_its_companion() {
        check(29, None, Some(60), None);
        check(30, None, Some(60), Some(30));
        check(40, Some(3600), Some(60), Some(20));
        check(70, Some(3600), Some(60), Some(0));
    }

    #[test]
    fn a_node_is_kept_where_that_gains_nothing() {
        // The program's job ends first, somebody moved the limit, or there is none any more.
        check(40, Some(60), Some(60), None);
        check(40, None, Some(3600), None);
        check(40, None, None, None);
    }
}
