//! Call sites over all ranks: the same place in the program has a different address in every process.
//!
//! # Invariants
//! - A site is a place in a file (module and offset) and an operation; addresses of processes never leave this module.
//! - Ids count from 0 in descending order of the MPI time spent at the sites.

use super::roster::{RankProcess, Roster, TimeByRank, add_time};
use events::{CodeAddress, ModuleMap, RegionCounters, SizeHistogram};
use run_record::summary::CallSite;
use std::collections::{BTreeMap, HashMap};

/// All call sites of a run.
#[derive(Debug, Default)]
pub(super) struct Sites {
    /// Totals by site id.
    pub(super) totals: Vec<SiteTotals>,
    /// Address books by position in [`Roster::ranks`].
    pub(super) books: Vec<AddressBook>,
    /// Mapped files that contain sites.
    modules: Vec<String>,
}

/// Totals of a call site over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SiteTotals {
    key: SiteKey,
    /// Calls, bytes and times for the summary; the rest is still empty.
    pub(super) totals: CallSite,
    pub(super) time_by_rank_s: TimeByRank,
    pub(super) sizes: SizeHistogram,
}

/// Identity of a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SiteKey {
    /// Position in [`Sites::modules`]; `None` if the address is in no mapped file.
    module: Option<usize>,
    file_offset: u64,
    operation: u16,
}

/// Sites of one process, by its own addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressBook {
    by_address: HashMap<u64, Vec<Known>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    operation: u16,
    site: usize,
    n_calls: u64,
}

impl AddressBook {
    /// Returns the site of a call.
    pub(super) fn site(&self, address: u64, operation: u16) -> Option<usize> {
        let known = self.by_address.get(&address)?;
        known.iter().find(|known| known.operation == operation).map(|known| known.site)
    }

    /// Returns the site of the call before a region, of which only the address is known: a call through a pointer
    /// may be several operations; the one called most is chosen.
    pub(super) fn site_before(&self, address: u64) -> Option<usize> {
        let known = self.by_address.get(&address).filter(|_| address != 0)?;
        known.iter().max_by_key(|known| known.n_calls).map(|known| known.site)
    }
}

impl SiteTotals {
    pub(super) fn operation(&self) -> u16 {
        self.key.operation
    }

    fn add(&mut self, rank: usize, counters: &RegionCounters, (time_s, max_s): (f64, f64)) {
        self.totals.calls += counters.n_calls;
        self.totals.bytes += counters.bytes;
        self.totals.time_s += time_s;
        self.totals.time_max_s = self.totals.time_max_s.max(max_s);
        self.sizes.add(&counters.sizes);
        add_time(&mut self.time_by_rank_s, rank, time_s);
    }
}

impl Sites {
    pub(super) fn new(roster: &Roster<'_>) -> Self {
        let mut adding = Adding::default();
        let books = roster.ranks.iter().enumerate().map(|(idx, rank)| adding.rank(idx, rank));
        let keys: Vec<_> = books.collect();
        let mut totals: Vec<SiteTotals> = adding.totals.into_values().collect();
        let time_s = |site: &SiteTotals| site.totals.time_s;
        totals.sort_by(|a, b| time_s(b).total_cmp(&time_s(a)).then(a.key.cmp(&b.key)));
        let ids: HashMap<SiteKey, usize> =
            totals.iter().enumerate().map(|(id, site)| (site.key, id)).collect();
        let books = keys.into_iter().map(|keys| book(keys, &ids)).collect();
        let modules = names(adding.modules);
        Self { totals, books, modules }
    }

    /// Returns the code address of a site; `None` if its address was in no mapped file.
    pub(super) fn address(&self, site: &SiteTotals) -> Option<CodeAddress<'_>> {
        let module = self.modules.get(site.key.module?)?;
        Some(CodeAddress { module, file_offset: site.key.file_offset })
    }
}

fn names(numbers: HashMap<String, usize>) -> Vec<String> {
    let mut names: Vec<(usize, String)> =
        numbers.into_iter().map(|(name, number)| (number, name)).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

fn book(calls: BTreeMap<(u64, u16), (SiteKey, u64)>, ids: &HashMap<SiteKey, usize>) -> AddressBook {
    let mut book = AddressBook::default();
    for ((address, operation), (key, n_calls)) in calls {
        let known = Known { operation, site: ids[&key], n_calls };
        book.by_address.entry(address).or_default().push(known);
    }
    book
}

/// Builder to which the sites of ranks are added.
#[derive(Default)]
struct Adding {
    totals: HashMap<SiteKey, SiteTotals>,
    modules: HashMap<String, usize>,
}

impl Adding {
    /// Adds all calls of a rank; returns the site and the number of calls for each of its addresses.
    fn rank(&mut self, idx: usize, rank: &RankProcess<'_>) -> BTreeMap<(u64, u16), (SiteKey, u64)> {
        // A line of the map that cannot be parsed costs the names of some sites, not their numbers.
        let (map, _problems) = ModuleMap::parse(&rank.report.modules);
        let mut calls = BTreeMap::new();
        for thread in &rank.report.threads {
            let open = rank.open_call(thread).map(|open| RegionCounters {
                address: open.call.address,
                operation: open.call.operation,
                mpi_ticks: open.ticks,
                mpi_ticks_max: open.ticks,
                ..RegionCounters::default()
            });
            for counters in thread.regions.iter().chain(&open) {
                let key = self.key(&map, counters);
                let time_s = rank.call_s(counters, counters.mpi_ticks);
                let max_s = rank.call_s(counters, counters.mpi_ticks_max);
                let totals = self.totals.entry(key);
                let totals = totals.or_insert(SiteTotals { key, ..SiteTotals::default() });
                totals.add(idx, counters, (time_s, max_s));
                let known = calls.entry((counters.address, counters.operation));
                known.or_insert((key, 0)).1 += counters.n_calls;
            }
        }
        calls
    }

    fn key(&mut self, map: &ModuleMap, counters: &RegionCounters) -> SiteKey {
        let operation = counters.operation;
        let Some(at) = map.locate(counters.address) else {
            return SiteKey { operation, ..SiteKey::default() };
        };
        let next = self.modules.len();
        let module = *self.modules.entry(at.module.to_owned()).or_insert(next);
        SiteKey { module: Some(module), file_offset: at.file_offset, operation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{measured, operation_number, process_with, region, text_of, thread};
    use wire::ProcessReport;

    fn sites(processes: Vec<ProcessReport>) -> Sites {
        Sites::new(&Roster::new(&measured(processes), 0.0))
    }

    fn two_ranks() -> Vec<ProcessReport> {
        [0, 1]
            .map(|rank| {
                let slow = if rank == 0 { 1.0 } else { 3.0 };
                let first = vec![
                    region(rank, (0, 0x10), "MPI_Send", 2, (0.5, 1.0)),
                    region(rank, (0x10, 0x20), "MPI_Recv", 2, (slow, 1.0)),
                ];
                let second = vec![region(rank, (0x20, 0x10), "MPI_Send", 4, (0.5, 1.0))];
                let mut process = process_with(0, rank, first);
                process.threads.push(thread(1, second));
                process
            })
            .to_vec()
    }

    #[test]
    fn a_site_is_one_whatever_its_address_in_a_process() {
        let sites = sites(two_ranks());
        let of = |site: &SiteTotals| {
            (site.operation(), site.totals.calls, site.totals.bytes, site.totals.time_s)
        };
        assert_eq!(of(&sites.totals[0]), (operation_number("MPI_Recv"), 4, 256, 4.0));
        assert_eq!(of(&sites.totals[1]), (operation_number("MPI_Send"), 12, 768, 2.0));
        assert_eq!(sites.totals.len(), 2);
        assert_eq!(sites.totals[0].time_by_rank_s, [(0, 1.0), (1, 3.0)]);
        assert_eq!(sites.totals[1].time_by_rank_s, [(0, 1.0), (1, 1.0)]);
        assert!((sites.totals[0].totals.time_max_s - 1.5).abs() < 1e-9);
        let at = sites.address(&sites.totals[0]).unwrap();
        assert_eq!((at.module, at.file_offset), ("/bin/fire", 0x1020));
    }

    #[test]
    fn each_process_has_its_own_addresses() {
        let sites = sites(two_ranks());
        let (send, recv) = (operation_number("MPI_Send"), operation_number("MPI_Recv"));
        for rank in 0..2 {
            let book = &sites.books[rank as usize];
            assert_eq!(book.site(text_of(rank) + 0x20, recv), Some(0));
            assert_eq!(book.site(text_of(rank) + 0x10, send), Some(1));
            assert_eq!(book.site(text_of(rank) + 0x10, recv), None);
            assert_eq!(book.site_before(text_of(rank) + 0x10), Some(1));
            assert_eq!(book.site_before(0), None);
        }
    }

    #[test]
    fn the_call_before_is_the_operation_called_most_there() {
        let less = region(0, (0, 0x10), "MPI_Send", 2, (2.0, 0.0));
        let more = region(0, (0, 0x10), "MPI_Bsend", 9, (1.0, 0.0));
        let sites = sites(vec![process_with(0, 0, vec![less, more])]);
        assert_eq!(sites.books[0].site_before(text_of(0) + 0x10), Some(1));
    }

    #[test]
    fn addresses_outside_all_files_are_one_site_for_each_operation() {
        let mut wild = region(0, (0, 0x10), "MPI_Send", 1, (1.0, 0.0));
        wild.address = 0x10;
        let overflow = region(0, (0, 0), "MPI_Send", 3, (1.0, 0.0));
        let sites = sites(vec![process_with(0, 0, vec![wild, overflow])]);
        assert_eq!(sites.totals.len(), 1);
        assert_eq!(sites.totals[0].totals.calls, 4);
        assert_eq!(sites.address(&sites.totals[0]), None);
    }
}
