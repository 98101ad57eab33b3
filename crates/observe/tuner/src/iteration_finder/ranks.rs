//! Ranks whose calls may be listened to.

use super::orders::{is_call, is_meant, operation_name};
use events::{CodeAddress, ModuleMap, OperationId, Rank};
use std::collections::{BTreeMap, BTreeSet};
use wire::{ProcessReport, ThreadReport};

/// Most ranks that are known, the lowest ones.
const N_KNOWN_MAX: usize = 16;
/// Most ranks that are listened to at once.
pub(super) const N_LISTENED: usize = 3;

/// The lowest ranks of the program.
#[derive(Debug, Default)]
pub(super) struct Ranks(BTreeMap<Rank, KnownRank>);

/// What the reports of a rank say.
#[derive(Debug, Default)]
pub(super) struct KnownRank {
    /// Index of the thread that calls MPI most.
    pub(super) thread: u32,
    pub(super) modules: ModuleMap,
    /// Call sites that are not the described one.
    others: BTreeSet<u64>,
    /// Calls up to the last report.
    n_calls: u64,
    /// Whether it made calls between the last two reports.
    is_active: bool,
    /// Reports with calls since the last one, since they were last counted from 0.
    n_active: u32,
    /// Times that nothing was found in its calls.
    n_tried: u32,
}

impl KnownRank {
    /// Returns the first of some call sites, given with their operations, that a description means, with its name.
    pub(super) fn place_of(
        &mut self,
        described: &str,
        mut calls: impl Iterator<Item = (u64, u16)>,
        mut name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Option<(u64, String)> {
        calls.find_map(|(address, operation)| {
            if self.others.contains(&address) {
                return None;
            }
            let (operation, place) =
                (operation_name(operation), name(&self.modules.locate(address)?));
            if is_meant(described, operation, &place) {
                return Some((address, format!("{operation} in {place}")));
            }
            self.others.insert(address);
            None
        })
    }
}

impl Ranks {
    /// Returns whether a rank is known.
    pub(super) fn holds(&self, rank: Rank) -> bool {
        self.0.contains_key(&rank)
    }

    pub(super) fn get(&self, rank: Rank) -> Option<&KnownRank> {
        self.0.get(&rank)
    }

    pub(super) fn get_mut(&mut self, rank: Rank) -> Option<&mut KnownRank> {
        self.0.get_mut(&rank)
    }

    /// Takes a report; returns the thread that calls MPI most, or `None` if enough lower ranks are known.
    pub(super) fn see(&mut self, rank: Rank, report: &ProcessReport) -> Option<u32> {
        let is_full = N_KNOWN_MAX <= self.0.len();
        if is_full && !self.holds(rank) && self.0.keys().next_back().is_some_and(|it| *it < rank) {
            return None;
        }
        let busiest = report.threads.iter().max_by_key(|thread| n_calls(thread));
        let n_calls: u64 = report.threads.iter().map(n_calls).sum();
        let known = self.0.entry(rank).or_default();
        known.thread = busiest.map_or(report.main_thread, |thread| thread.idx);
        if !report.modules.is_empty() {
            known.modules = ModuleMap::parse(&report.modules).0;
        }
        known.is_active = known.n_calls < n_calls;
        known.n_active += u32::from(known.is_active);
        known.n_calls = n_calls;
        Some(known.thread)
    }

    /// Forgets a rank that ended.
    pub(super) fn forget(&mut self, rank: Rank) {
        self.0.remove(&rank);
    }

    /// Returns a rank beyond those that are known at most, if there is one.
    pub(super) fn surplus(&self) -> Option<Rank> {
        (N_KNOWN_MAX < self.0.len()).then(|| self.0.keys().next_back().copied())?
    }

    /// Returns the ranks to listen to, with their threads: `first`, then those in whose calls nothing was found least often,
    /// of these such that make calls, of these the lowest.
    pub(super) fn picks(&self, first: Option<Rank>) -> BTreeMap<Rank, u32> {
        let mut ranks: Vec<(&Rank, &KnownRank)> = self.0.iter().collect();
        ranks.sort_by_key(|(rank, known)| {
            (Some(**rank) != first, known.n_tried, !known.is_active, **rank)
        });
        ranks.iter().take(N_LISTENED).map(|(rank, known)| (**rank, known.thread)).collect()
    }

    /// Returns whether a rank that `listened` leaves out makes calls.
    pub(super) fn is_another_active(&self, listened: impl Fn(Rank) -> bool) -> bool {
        self.0.iter().any(|(rank, known)| known.is_active && !listened(*rank))
    }

    /// Notes that nothing was found in the calls of a rank.
    pub(super) fn note_failure(&mut self, rank: Rank) {
        self.0.entry(rank).and_modify(|known| known.n_tried += 1);
    }

    /// Counts reports with calls from 0 on.
    pub(super) fn count_anew(&mut self) {
        self.0.values_mut().for_each(|known| known.n_active = 0);
    }

    /// Returns the largest number of reports of one rank with calls since the one before.
    pub(super) fn n_active(&self) -> u32 {
        self.0.values().map(|known| known.n_active).max().unwrap_or(0)
    }
}

fn n_calls(thread: &ThreadReport) -> u64 {
    let is_counted = |operation| mpi_abi::operation(OperationId(operation)).is_some_and(is_call);
    let counted = thread.regions.iter().filter(|region| is_counted(region.operation));
    counted.map(|region| region.n_calls).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::RegionCounters;

    const BARRIER: u16 = 7;

    /// Report of a rank that has made this number of calls.
    fn report(n_calls: u64) -> ProcessReport {
        let region = RegionCounters { operation: BARRIER, n_calls, ..Default::default() };
        let threads = vec![ThreadReport { regions: vec![region], ..ThreadReport::default() }];
        ProcessReport { threads, ..ProcessReport::default() }
    }

    #[test]
    fn the_lowest_active_ranks_are_picked_that_did_not_fail() {
        let mut ranks = Ranks::default();
        for rank in (0..20).rev() {
            ranks.see(Rank(rank), &report(1));
            if let Some(surplus) = ranks.surplus() {
                ranks.forget(surplus);
            }
        }
        assert_eq!(ranks.see(Rank(16), &report(1)), None, "enough are known");
        let picks =
            |ranks: &Ranks, first| ranks.picks(first).into_keys().map(|rank| rank.0).collect();
        let picked: Vec<u32> = picks(&ranks, None);
        assert_eq!(picked, [0, 1, 2]);
        for rank in 0..16 {
            ranks.see(Rank(rank), &report(if rank == 1 { 1 } else { 2 }));
        }
        ranks.note_failure(Rank(2));
        let picked: Vec<u32> = picks(&ranks, None);
        assert_eq!(picked, [0, 3, 4]);
        let picked: Vec<u32> = picks(&ranks, Some(Rank(9)));
        assert_eq!(picked, [0, 3, 9]);
        assert!(ranks.is_another_active(|rank| rank.0 < 3) && !ranks.is_another_active(|_| true));
    }

    #[test]
    fn reports_with_calls_are_counted() {
        let mut ranks = Ranks::default();
        for n_calls in [0, 0, 5, 5, 9] {
            ranks.see(Rank(0), &report(n_calls));
        }
        assert_eq!(ranks.n_active(), 2);
        ranks.count_anew();
        assert_eq!(ranks.n_active(), 0);
    }
}
