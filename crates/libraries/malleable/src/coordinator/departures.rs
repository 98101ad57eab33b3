//! Ranks that have to leave: they were asked to end, or the time for which their host is lent is over soon.
//!
//! They leave before any other wish is considered, and a resize that is not decided gives way. What cannot be obeyed is said
//! once.

use super::Coordinator;
use crate::manager::{Lease, is_same};
use crate::plan::ResizePlan;
use crate::present_ranks::PresentRanks;
use crate::protocol::Origin;
use crate::record;
use resize_api::{Resize, ResizeOutcome, Strategy};
use std::collections::BTreeSet;
use std::time::Duration;

/// Smallest time before the end of a lease at which a host is left.
const MARGIN: Duration = Duration::from_secs(30);
/// Number of changes that fit into the margin, each as long as the longest so far.
const N_CHANGES: f64 = 3.0;
/// Number of iterations that fit into it as well: orders are carried out between iterations.
const N_ITERATIONS: f64 = 3.0;

/// Wishes of ranks to leave.
#[derive(Debug, Default)]
pub(super) struct Departures {
    /// Ranks that were asked to end.
    asked: BTreeSet<u32>,
    /// Ranks that cannot leave, as has been said.
    staying: BTreeSet<u32>,
}

/// Ranks that have to leave.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Departure {
    ranks: BTreeSet<u32>,
    /// Reason, in words.
    why: String,
}

impl Departures {
    /// Forgets all ranks: others have their numbers now, and ask again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Notes how the resize by which ranks were to leave has ended: after a failure, nobody tries again.
    pub(super) fn conclude(&mut self, resize: &Resize, leavers: &[u32]) {
        if resize.outcome != ResizeOutcome::Done && !leavers.is_empty() {
            let leavers = leavers.iter().copied().collect();
            let Resize { reason, sentence, .. } = resize;
            self.keep(&leavers, &format!("{reason}, but its ranks could not leave: {sentence}"));
        }
    }

    /// Notes that these ranks stay, whatever they were asked, and says why.
    fn keep(&mut self, ranks: &BTreeSet<u32>, why: &str) {
        self.staying.extend(ranks);
        record::say(why);
    }
}

impl Departure {
    /// The resize by which these ranks leave, of `from` ranks; said to the user.
    pub(super) fn into_resize(self, from: u32, iteration: u64) -> (Resize, Origin) {
        let Self { ranks, why } = self;
        let to = n_left(&ranks, from);
        record::say(&format!("{why}: {from} ranks become {to}"));
        let known = Resize { from, to, iteration, reason: why, ..Resize::default() };
        let began_s = record::now_s();
        let resize = Resize { began_s, strategy: Strategy::Merge, ..known };
        (resize, Origin { leavers: ranks.into_iter().collect(), ..Origin::default() })
    }
}

impl Coordinator {
    /// Ranks that have to leave, and can; `asked` are those that have been asked to end since the last check.
    pub(super) fn departure(&mut self, asked: &[u32], ranks: &PresentRanks) -> Option<Departure> {
        self.departures.asked.extend(asked);
        let margin = margin(&self.record.resizes, self.timer.seconds.unwrap_or(0.0));
        let leases = match &mut self.host_requests {
            Some(Ok(host_requests)) => host_requests.leases(margin),
            _ => Vec::new(),
        };
        if self.departures.asked.is_empty() && leases.iter().all(|lease| lease.ends_in.is_none()) {
            return None;
        }
        let found = departure(&ranks.hosts(), &self.departures, &leases)?;
        let obstacle = obstacle(&found.ranks, &ranks.worlds(), self.handover.sizes.0);
        let Err(obstacle) = obstacle else { return Some(found) };
        let why = format!("{}, but its ranks cannot leave: {obstacle}", found.why);
        self.departures.keep(&found.ranks, &why);
        None
    }
}

/// Why these ranks cannot leave, of ranks with the ids of their worlds, of which `min` have to be left.
fn obstacle(leaving: &BTreeSet<u32>, worlds: &[u64], min: u32) -> Result<(), String> {
    let n_left = n_left(leaving, u32::try_from(worlds.len()).unwrap_or(u32::MAX));
    if n_left < min {
        return Err(format!("the program needs {min} ranks, and {n_left} would be left"));
    }
    let leavers = leaving.iter().copied().collect::<Vec<_>>();
    let seats = ResizePlan::seats_without(worlds, &leavers);
    seats.map(drop).ok_or_else(|| "others were started together with them".to_owned())
}

fn n_left(leaving: &BTreeSet<u32>, n_ranks: u32) -> u32 {
    n_ranks.saturating_sub(u32::try_from(leaving.len()).unwrap_or(u32::MAX))
}

/// Time before the end of a lease at which its host is left, after these resizes.
fn margin(resizes: &[Resize], iteration_s: f64) -> Duration {
    let done = resizes.iter().filter(|resize| resize.outcome == ResizeOutcome::Done);
    let price_s = done.map(|resize| resize.seconds.total + resize.seconds.release);
    let needed_s = N_CHANGES * price_s.fold(0.0, f64::max) + N_ITERATIONS * iteration_s;
    Duration::try_from_secs_f64(needed_s).map_or(MARGIN, |needed| needed.max(MARGIN))
}

/// Ranks that have to leave, of ranks on these hosts: those of a lent host together.
fn departure(hosts: &[String], wishes: &Departures, leases: &[Lease]) -> Option<Departure> {
    let Departures { asked, staying } = wishes;
    let on = |host: &str| {
        let there = (0..).zip(hosts).filter(move |(_, name)| is_same(name, host));
        there.map(|(rank, _)| rank).collect::<BTreeSet<u32>>()
    };
    let lent = leases.iter().map(|lease| (lease, on(&lease.host)));
    let lent = lent.collect::<Vec<_>>();
    let has_to = |(lease, there): &&(&Lease, BTreeSet<u32>)| {
        !there.is_empty() && (lease.ends_in.is_some() || !there.is_disjoint(asked))
    };
    let whole = lent.iter().filter(has_to).collect::<Vec<_>>();
    let of_hosts = whole.iter().flat_map(|(_, there)| there).chain(asked);
    let ranks = of_hosts.copied().filter(|rank| !staying.contains(rank)).collect::<BTreeSet<_>>();
    let ends_in = whole.iter().filter_map(|(lease, _)| lease.ends_in).min();
    let left = ranks.iter().filter_map(|rank| hosts.get(*rank as usize)).collect::<BTreeSet<_>>();
    let named = left.iter().map(|host| format!("`{host}`")).collect::<Vec<_>>().join(", ");
    let why = match (ends_in.filter(|_| asked.is_empty()), left.len()) {
        (_, 0) => return None,
        (Some(left), 1) => format!("the Slurm job that lends {named} ends in {} s", left.as_secs()),
        (Some(left), _) => format!("Slurm jobs that lend {named} end in {} s", left.as_secs()),
        (None, 1) => format!("{named} has to be left (`SIGTERM`)"),
        (None, _) => format!("{named} have to be left (`SIGTERM`)"),
    };
    Some(Departure { ranks, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(asked: &[u32], leases: &[(&str, Option<u64>)], expected: Option<(&[u32], &str)>) {
        let hosts = ["a", "a", "b.site", "c", "c"].map(str::to_owned);
        let leases = leases.iter().map(|(host, ends_in_s)| Lease {
            host: (*host).to_owned(),
            ends_in: ends_in_s.map(Duration::from_secs),
        });
        let leases = leases.collect::<Vec<_>>();
        let asked = asked.iter().copied().collect();
        let wishes = Departures { asked, staying: [0].into() };
        let found = departure(&hosts, &wishes, &leases);
        let expected = expected.map(|(ranks, why)| Departure {
            ranks: ranks.iter().copied().collect(),
            why: why.to_owned(),
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn lent_hosts_are_left_as_a_whole() {
        let signal = |host: &str| format!("`{host}` has to be left (`SIGTERM`)");
        check(&[], &[("b", None), ("c", None)], None);
        check(&[4], &[("b", None), ("c", None)], Some((&[3, 4], &signal("c"))));
        check(&[4], &[], Some((&[4], &signal("c"))));
        check(&[1], &[("c", None)], Some((&[1], &signal("a"))));
        check(&[0], &[("a", None)], Some((&[1], &signal("a"))));
        check(&[0], &[("c", None)], None);
        let ends = "the Slurm job that lends `b.site` ends in 29 s";
        check(&[], &[("b", Some(29)), ("c", None)], Some((&[2], ends)));
        let ends = "Slurm jobs that lend `b.site`, `c` end in 28 s";
        check(&[], &[("b", Some(29)), ("c", Some(28))], Some((&[2, 3, 4], ends)));
        let both = "`b.site`, `c` have to be left (`SIGTERM`)";
        check(&[3], &[("b", Some(29)), ("c", None)], Some((&[2, 3, 4], both)));
        check(&[], &[("d", Some(29))], None);
    }

    #[test]
    fn an_obstacle_is_named() {
        let check = |leaving: &[u32], min: u32, expected: Result<(), &str>| {
            let found = obstacle(&leaving.iter().copied().collect(), &[0, 0, 1, 2], min);
            assert_eq!(found, expected.map_err(str::to_owned));
        };
        check(&[2, 3], 2, Ok(()));
        check(&[2, 3], 3, Err("the program needs 3 ranks, and 2 would be left"));
        check(&[1, 2], 1, Err("others were started together with them"));
    }

    #[test]
    fn the_margin_follows_from_what_changes_took() {
        let took = |total, outcome| {
            let seconds = resize_api::Seconds { total, release: 1.0, ..Default::default() };
            Resize { outcome, seconds, ..Resize::default() }
        };
        assert_eq!(margin(&[], 0.0), MARGIN);
        assert_eq!(margin(&[took(2.0, ResizeOutcome::Done)], 1.0), MARGIN);
        let slow = [took(19.0, ResizeOutcome::Done), took(100.0, ResizeOutcome::Failed)];
        assert_eq!(margin(&slow, 10.0), Duration::from_secs(90));
        assert_eq!(margin(&[], f64::NAN), MARGIN);
    }
}
