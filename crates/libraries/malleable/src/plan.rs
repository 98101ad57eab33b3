//! Plan of one resize: rank 0 makes it, and sends it to all participants.

use crate::bridge::Bridge;
use crate::leaving::{Leaving, empty_hosts, leaving};
use crate::manager::{LOOPBACK, is_same};
use crate::moving::Method;
use mpi::Comm;
use resize_api::{Spawn, Strategy};
use resize_plan::{MovePlan, PairBytes, Partition, RowBytes, TargetProcess, stay};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Plan of one resize.
///
/// Participants are numbered: sources first, in the order of their ranks, then new processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResizePlan {
    /// Number of the resize, counted from the start of the program.
    pub(crate) serial: u16,
    /// Number of ranks before.
    pub(crate) n_sources: u32,
    /// Participant number of each later rank.
    pub(crate) targets: Vec<u32>,
    /// Groups of processes to start.
    pub(crate) starts: Vec<ProcessStart>,
    /// Launched ranks that sleep, and now become new ones.
    pub(crate) woken: Vec<u32>,
    /// Whether ranks that leave go to sleep instead of ending.
    pub(crate) is_parked: bool,
    /// Method that moves data; `None` to choose it by a trial.
    pub(crate) method: Option<Method>,
    /// Longest time of each step, in ms.
    pub(crate) deadline_ms: u64,
}

/// Resize that was ordered.
#[derive(Debug, Default)]
pub(crate) struct OrderedResize {
    /// Plan, until the ranks begin to carry it out.
    pub(crate) plan: Option<ResizePlan>,
    /// Iteration at which it was ordered.
    pub(crate) at: u64,
}

/// Processes started together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessStart {
    /// Rank that starts them.
    pub(crate) parent: u32,
    /// Participant number of the first of them.
    pub(crate) first: u32,
    /// Number of processes.
    pub(crate) n_ranks: u32,
    /// Host to start on; `None` for the launcher's choice.
    pub(crate) host: Option<String>,
    /// Command words before the program.
    pub(crate) through: Vec<String>,
    /// Whether another launcher starts them (companion).
    pub(crate) is_companion: bool,
}

/// Slots for processes on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostSlots {
    pub(crate) n_ranks: u32,
    /// Indices of the new processes placed here, in the order of their ranks, if it matters which.
    pub(crate) ranks: Vec<usize>,
    pub(crate) host: Option<String>,
    pub(crate) through: Vec<String>,
}

impl HostSlots {
    /// Returns whether the slots are on none of these hosts.
    pub(crate) fn is_foreign_to(&self, hosts: &[String]) -> bool {
        let is_foreign = |named: &String| !hosts.iter().any(|host| is_same(host, named));
        self.host.as_ref().is_some_and(|named| !is_loopback(named) && is_foreign(named))
    }
}

impl ResizePlan {
    /// Chooses the participants that become the `n_targets` ranks, from ranks with the ids of their worlds; also
    /// returns the strategy in effect.
    ///
    /// Ranks whose leaving empties a host leave first, since hosts are given back as a whole. For data in blocks of
    /// equal weight, ranks that stay get the places where they already hold most of the rows.
    pub(crate) fn seats(
        (worlds, hosts): (&[u64], &[String]),
        n_targets: u32,
        strategy: Strategy,
    ) -> (Vec<u32>, Strategy) {
        let n_sources = u32::try_from(worlds.len()).unwrap_or(u32::MAX);
        match leaving(worlds, n_targets as usize, strategy) {
            Leaving::All => {
                ((n_sources..n_sources.saturating_add(n_targets)).collect(), Strategy::Baseline)
            }
            Leaving::Fixed { staying } => (staying, Strategy::Merge),
            Leaving::Free { mut is_bound } => {
                let n_leaving = n_sources.saturating_sub(n_targets);
                if 0 < n_leaving {
                    empty_hosts(&mut is_bound, hosts, n_leaving as usize);
                }
                (stayed(n_sources, n_targets, &is_bound), Strategy::Merge)
            }
        }
    }

    /// Chooses the participants that become ranks when exactly `leavers` leave, of ranks with the ids of their worlds;
    /// `None` where one of them was started together with a rank that stays.
    pub(crate) fn seats_without(worlds: &[u64], leavers: &[u32]) -> Option<Vec<u32>> {
        let n_sources = u32::try_from(worlds.len()).ok()?;
        let is_bound = (0..n_sources).map(|rank| !leavers.contains(&rank)).collect::<Vec<_>>();
        let of_those = |stays: bool| {
            let ranks = worlds.iter().zip(&is_bound).filter(move |(_, bound)| **bound == stays);
            ranks.map(|(world, _)| *world).collect::<BTreeSet<_>>()
        };
        let n_targets = u32::try_from(is_bound.iter().filter(|bound| **bound).count()).ok()?;
        let is_possible = 0 < n_targets && of_those(true).is_disjoint(&of_those(false));
        is_possible.then(|| stayed(n_sources, n_targets, &is_bound))
    }

    /// The communicator of all participants as a bridge.
    pub(crate) fn bridge<'a>(&self, comm: &'a Comm) -> Bridge<'a> {
        Bridge { comm, sources: (0..self.n_sources).collect(), targets: self.targets.clone() }
    }

    /// Number of new processes.
    pub(crate) fn n_new(&self) -> u32 {
        let is_new = |number: &&u32| self.n_sources <= **number;
        u32::try_from(self.targets.iter().filter(is_new).count()).unwrap_or(u32::MAX)
    }

    /// Returns how much of its data each new process finds on which host, in the order of ranks, if the sources on
    /// `hosts` hold equal shares in order.
    pub(crate) fn finds(&self, hosts: &[String]) -> Vec<Vec<(String, u64)>> {
        let n_targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let mut finds = vec![Vec::new(); self.targets.len()];
        for PairBytes { from, to, bytes } in shared(self.n_sources, n_targets) {
            if let (Some(host), Some(finds)) =
                (hosts.get(from as usize), finds.get_mut(to as usize))
            {
                finds.push((host.clone(), bytes));
            }
        }
        let of_new = finds.into_iter().zip(&self.targets);
        of_new.filter(|(_, number)| self.n_sources <= **number).map(|(finds, _)| finds).collect()
    }

    /// Numbers the new processes in the order of their placement.
    fn number(&mut self, slots: &[HostSlots]) {
        let is_new = |rank: &usize| self.n_sources <= self.targets[*rank];
        let new = (0..self.targets.len()).filter(is_new).collect::<Vec<_>>();
        let placed = slots.iter().flat_map(|host_slots| &host_slots.ranks).collect::<Vec<_>>();
        if placed.len() == new.len() {
            for (number, place) in (self.n_sources..).zip(placed) {
                self.targets[new[*place]] = number;
            }
        }
    }

    /// Sets which source starts which new processes, and on which hosts there are slots: a source on the same host, if
    /// there is one; `hosts` are those of the sources.
    pub(crate) fn start(&mut self, spawn: Spawn, slots: &[HostSlots], hosts: &[String]) {
        self.number(slots);
        let mut left = self.n_new();
        let mut first = self.n_sources;
        for host_slots in slots {
            let mut n_here = host_slots.n_ranks.min(left);
            left -= n_here;
            while 0 < n_here {
                let is_single = matches!(spawn, Spawn::Tree | Spawn::Sequential | Spawn::Companion);
                let n_ranks = if is_single { 1 } else { n_here };
                let number = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
                let is_spread = matches!(spawn, Spawn::Tree | Spawn::PerNode | Spawn::Companion);
                let near = neighbors(host_slots, hosts, self.n_sources);
                let turn = if is_spread { number as usize % near.len() } else { 0 };
                let parent = near[turn];
                let HostSlots { host, through, .. } = host_slots.clone();
                let is_companion = spawn == Spawn::Companion;
                let start = ProcessStart { parent, first, n_ranks, host, through, is_companion };
                self.starts.push(start);
                (first, n_here) = (first + n_ranks, n_here - n_ranks);
            }
        }
    }

    /// Processes that this source starts, in order.
    pub(crate) fn started_by(&self, source: u32) -> impl Iterator<Item = &ProcessStart> {
        self.starts.iter().filter(move |start| start.parent == source)
    }

    /// Number of participants.
    pub(crate) fn n_all(&self) -> u32 {
        self.n_sources + self.n_new()
    }

    /// Rank that this participant gets, if any.
    pub(crate) fn target(&self, number: u32) -> Option<u32> {
        let place = self.targets.iter().position(|target| *target == number);
        place.and_then(|place| u32::try_from(place).ok())
    }

    /// Participant numbers of the sources that leave.
    pub(crate) fn leavers(&self) -> impl Iterator<Item = u32> {
        (0..self.n_sources).filter(|source| !self.targets.contains(source))
    }

    /// Participant number of the next rank 0.
    pub(crate) fn next_first(&self) -> u32 {
        self.targets.first().copied().unwrap_or(0)
    }
}

fn is_loopback(name: &str) -> bool {
    LOOPBACK.contains(&name)
}

/// Sources on the host of these slots, or else all sources; never empty.
fn neighbors(host_slots: &HostSlots, hosts: &[String], n_sources: u32) -> Vec<u32> {
    let is_near = |source: &u32| {
        let host = hosts.get(*source as usize);
        // Loopback names are those of rank 0's host, which read them.
        let named = host_slots.host.as_ref().map(|named| match hosts.first() {
            Some(first) if is_loopback(named) => first,
            _ => named,
        });
        host.zip(named).is_some_and(|(own, named)| is_same(own, named))
    };
    let near = (0..n_sources).filter(is_near).collect::<Vec<_>>();
    if near.is_empty() { (0..n_sources.max(1)).collect() } else { near }
}

/// Plan of the moves when equal shares for `n_sources` become equal shares for `n_targets`.
fn row_plan(n_sources: u32, n_targets: u32) -> Option<MovePlan> {
    let shares = u64::from(n_sources) * u64::from(n_targets);
    let before = Partition::even(shares, n_sources).ok()?;
    MovePlan::between(&before, &Partition::even(shares, n_targets).ok()?).ok()
}

/// Amount that each target gets from each source, in shares.
fn shared(n_sources: u32, n_targets: u32) -> Vec<PairBytes> {
    row_plan(n_sources, n_targets)
        .map_or_else(Vec::new, |plan| plan.bytes_per_pair(&RowBytes::Each(1)))
}

/// Participant numbers of the targets, when sources hold equal shares in order.
fn stayed(n_sources: u32, n_targets: u32, is_bound: &[bool]) -> Vec<u32> {
    let seats = row_plan(n_sources, n_targets)
        .and_then(|plan| stay(&plan, &RowBytes::Each(1), is_bound).ok());
    let mut next = n_sources..;
    let number = |seat: TargetProcess| match seat {
        TargetProcess::Stays { source } => Some(source),
        TargetProcess::New => next.next(),
    };
    seats.unwrap_or_default().into_iter().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(worlds: &[u64], n_targets: u32, strategy: Strategy, expected: (&[u32], Strategy)) {
        let hosts = vec!["host".to_owned(); worlds.len()];
        let (targets, used) = ResizePlan::seats((worlds, &hosts), n_targets, strategy);
        assert_eq!((&*targets, used), expected);
    }

    #[test]
    fn those_stay_who_have_most() {
        use Strategy::{Baseline, Merge};
        check(&[0, 0, 0, 0], 8, Merge, (&[0, 4, 1, 5, 2, 6, 3, 7], Merge));
        check(&[0, 0], 4, Merge, (&[0, 2, 1, 3], Merge));
        check(&[0, 1], 3, Merge, (&[0, 2, 1], Merge));
        check(&[0, 1], 1, Merge, (&[0], Merge));
        check(&[0, 0, 0, 1, 2, 3], 3, Merge, (&[0, 2, 1], Merge));
        check(&[0, 0, 2, 3, 4], 1, Merge, (&[2], Merge));
        check(&[0, 0, 0], 2, Merge, (&[3, 4], Baseline));
        check(&[0, 1], 2, Baseline, (&[2, 3], Baseline));
    }

    #[test]
    fn exactly_those_leave_who_have_to() {
        let seats = ResizePlan::seats_without;
        assert_eq!(seats(&[0, 0, 1, 2], &[2]), Some(vec![0, 1, 3]));
        assert_eq!(seats(&[0, 0, 1, 2], &[2, 3]), Some(vec![0, 1]));
        assert_eq!(seats(&[0, 1, 2], &[0]), Some(vec![1, 2]));
        assert_eq!(seats(&[0, 1, 1, 2], &[1, 2]), Some(vec![0, 3]));
        assert_eq!(seats(&[0, 1, 1, 2], &[1]), None);
        assert_eq!(seats(&[0, 1], &[0, 1]), None);
    }

    fn plan(n_sources: u32, targets: &[u32]) -> ResizePlan {
        ResizePlan { n_sources, targets: targets.to_vec(), ..ResizePlan::default() }
    }

    fn host_slots(n_ranks: u32, host: &str) -> HostSlots {
        HostSlots { n_ranks, host: Some(host.to_owned()), ..HostSlots::default() }
    }

    #[test]
    fn processes_are_started_by_who_is_on_their_host() {
        let hosts = ["a", "b.cluster"].map(str::to_owned);
        let mut plan = plan(2, &[0, 2, 3, 1, 4]);
        plan.start(Spawn::Tree, &[host_slots(2, "b"), host_slots(1, "c")], &hosts);
        let parents = plan.starts.iter().map(|start| start.parent);
        assert_eq!(parents.collect::<Vec<_>>(), [1, 1, 0]);
        assert!(host_slots(1, "c").is_foreign_to(&hosts));
        let near = [host_slots(1, "b"), HostSlots::default(), host_slots(1, "localhost")];
        assert!(!near.iter().any(|slots| slots.is_foreign_to(&hosts)));
        assert_eq!(neighbors(&host_slots(1, "127.0.0.1"), &hosts, 2), [0]);
    }

    #[track_caller]
    fn check_starts(spawn: Spawn, slots: &[HostSlots], expected: &[(u32, u32, u32, &str)]) {
        let mut plan = plan(2, &[0, 2, 3, 1, 4]);
        plan.start(spawn, slots, &[]);
        let starts = plan.starts.iter();
        let starts =
            starts.map(|s| (s.parent, s.first, s.n_ranks, s.host.as_deref().unwrap_or("")));
        assert_eq!(starts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn new_processes_have_parents() {
        let slots = [host_slots(2, "a"), host_slots(8, "b")];
        check_starts(Spawn::Tree, &slots, &[(0, 2, 1, "a"), (1, 3, 1, "a"), (0, 4, 1, "b")]);
        check_starts(Spawn::Sequential, &slots, &[(0, 2, 1, "a"), (0, 3, 1, "a"), (0, 4, 1, "b")]);
        check_starts(Spawn::PerNode, &slots, &[(0, 2, 2, "a"), (1, 4, 1, "b")]);
        let anywhere = [HostSlots { n_ranks: 3, ..HostSlots::default() }];
        check_starts(Spawn::One, &anywhere, &[(0, 2, 3, "")]);
    }

    #[test]
    fn new_processes_are_numbered_as_they_are_placed() {
        let hosts = ["a", "b"].map(str::to_owned);
        let mut plan = plan(2, &[0, 2, 3, 1]);
        let on = |host: &str| vec![(host.to_owned(), 2)];
        assert_eq!(plan.finds(&hosts), [on("a"), on("b")]);
        let placed = |host, rank| HostSlots { ranks: vec![rank], ..host_slots(1, host) };
        plan.start(Spawn::Tree, &[placed("b", 1), placed("a", 0)], &[]);
        assert_eq!(plan.targets, [0, 3, 2, 1]);
        let starts = plan.starts.iter().map(|start| (start.first, start.host.as_deref()));
        assert_eq!(starts.collect::<Vec<_>>(), [(2, Some("b")), (3, Some("a"))]);
    }

    #[test]
    fn numbers_are_ranks() {
        let plan = plan(3, &[3, 1]);
        assert_eq!((plan.n_new(), plan.n_all(), plan.next_first()), (1, 4, 3));
        assert_eq!((plan.target(1), plan.target(0)), (Some(1), None));
        assert_eq!(plan.leavers().collect::<Vec<_>>(), [0, 2]);
    }
}
