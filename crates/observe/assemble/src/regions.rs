//! Regions over all ranks: pairs of call sites with the computation between them.

use super::roster::{RankProcess, Roster, TimeByRank, add_time};
use super::sites::{AddressBook, Sites};
use events::{OperationId, RegionCounters, SampledTime};
use run_record::RegionRow;
use run_record::summary::{Region, SampledParts};
use std::collections::BTreeMap;

/// Returns the regions of every thread, for the table in the record.
pub(super) fn rows(roster: &Roster<'_>, sites: &Sites) -> Vec<RegionRow> {
    let of_rank = |(rank, book): (&RankProcess<'_>, &AddressBook)| rank_rows(rank, book);
    roster.ranks.iter().zip(&sites.books).flat_map(of_rank).collect()
}

fn rank_rows(rank: &RankProcess<'_>, book: &AddressBook) -> Vec<RegionRow> {
    let mut rows = Vec::new();
    for thread in &rank.report.threads {
        let number = rank.thread_number(thread.idx);
        let counted = thread.regions.iter().filter(|counters| counters.n_calls != 0);
        rows.extend(counted.map(|counters| row(rank, number, book, counters)));
    }
    rows
}

fn row(
    rank: &RankProcess<'_>,
    thread: u32,
    book: &AddressBook,
    counters: &RegionCounters,
) -> RegionRow {
    let id = |site: Option<usize>| site.and_then(|site| u32::try_from(site).ok());
    RegionRow {
        world: u32::try_from(rank.world).unwrap_or(u32::MAX),
        rank: rank.report.rank.0,
        thread,
        from_call_site: id(book.site_before(counters.previous)),
        call_site: id(book.site(counters.address, counters.operation)),
        operation: OperationId(counters.operation),
        calls: counters.n_calls,
        compute_s: rank.clock.seconds(counters.compute_ticks),
        mpi_s: rank.call_s(counters, counters.mpi_ticks),
        mpi_max_s: rank.call_s(counters, counters.mpi_ticks_max),
        bytes: counters.bytes,
    }
}

/// Returns the regions of all ranks together with their computation time by rank, in descending order of time.
pub(super) fn totals(roster: &Roster<'_>, sites: &Sites) -> Vec<(Region, TimeByRank)> {
    let (mut parts, mut totals) = (BTreeMap::new(), BTreeMap::<Ends, (Region, TimeByRank)>::new());
    for (idx, (rank, book)) in roster.ranks.iter().zip(&sites.books).enumerate() {
        for row in rank_rows(rank, book) {
            let totals = totals.entry((row.from_call_site, row.call_site));
            let (region, by_rank_s) = totals.or_default();
            region.from = row.from_call_site.map(|site| site as usize);
            region.to = row.call_site.map(|site| site as usize);
            region.calls += row.calls;
            region.compute_s += row.compute_s;
            region.mpi_s += row.mpi_s;
            region.bytes += row.bytes;
            add_time(by_rank_s, idx, row.compute_s);
        }
        add_parts(&mut parts, rank, book);
    }
    for (sites, parts) in parts {
        if let Some((region, _)) = totals.get_mut(&sites) {
            region.sampled = Some(parts);
        }
    }
    let mut totals: Vec<(Region, TimeByRank)> = totals.into_values().collect();
    let time_s = |region: &Region| region.compute_s + region.mpi_s;
    totals.sort_by(|(a, _), (b, _)| time_s(b).total_cmp(&time_s(a)));
    totals
}

/// Numbers of the call sites before and after a region.
type Ends = (Option<u32>, Option<u32>);

/// Adds the parts of a rank's times that were sampled, scaled to the whole times.
fn add_parts(parts: &mut BTreeMap<Ends, SampledParts>, rank: &RankProcess<'_>, book: &AddressBook) {
    let id = |site: Option<usize>| site.and_then(|site| u32::try_from(site).ok());
    for counters in rank.report.threads.iter().flat_map(|thread| &thread.regions) {
        let ends = (
            id(book.site_before(counters.previous)),
            id(book.site(counters.address, counters.operation)),
        );
        let compute_s = rank.clock.seconds(counters.compute_ticks);
        let mpi_s = rank.call_s(counters, counters.mpi_ticks);
        if let Some((cpu, runqueue)) = shares(counters.compute) {
            let parts = parts.entry(ends).or_default();
            parts.compute_cpu_s += cpu * compute_s;
            parts.compute_runqueue_s += runqueue * compute_s;
        }
        if let Some((cpu, runqueue)) = shares(counters.mpi) {
            let parts = parts.entry(ends).or_default();
            parts.mpi_cpu_s += cpu * mpi_s;
            parts.mpi_runqueue_s += runqueue * mpi_s;
        }
    }
}

fn shares(time: SampledTime) -> Option<(f64, f64)> {
    time.cpu_share().zip(time.runqueue_share())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{measured, process, region, thread};
    use wire::ProcessReport;

    fn processes() -> [ProcessReport; 2] {
        [0, 1].map(|rank| {
            let mut process = process(0, rank);
            process.main_thread = 1;
            let regions = vec![
                region(rank, (0, 0x10), "MPI_Barrier", 1, (1.0, 0.5)),
                region(rank, (0x10, 0x20), "MPI_Recv", 5, (4.0, f64::from(rank) + 1.0)),
            ];
            let other = vec![region(rank, (0x10, 0x20), "MPI_Recv", 1, (0.5, 0.25))];
            process.threads = vec![thread(0, other), thread(1, regions)];
            process
        })
    }

    #[test]
    fn regions_are_added_over_ranks_and_threads_by_their_call_sites() {
        let measured = measured(processes());
        let roster = Roster::new(&measured, 0.0);
        let sites = Sites::new(&roster);
        let totals = totals(&roster, &sites);
        // `MPI_Recv` took the most time and is site 0.
        let found: Vec<_> = totals.iter().map(|(r, _)| (r.from, r.to, r.calls, r.bytes)).collect();
        assert_eq!(found, [(Some(1), Some(0), 12, 768), (None, Some(1), 2, 128)]);
        let (region, by_rank_s) = &totals[0];
        assert_eq!((region.compute_s, region.mpi_s), (3.5, 9.0));
        assert_eq!(*by_rank_s, [(0, 1.25), (1, 2.25)]);
    }

    #[test]
    fn every_thread_has_its_rows() {
        let measured = measured(processes());
        let roster = Roster::new(&measured, 0.0);
        let rows = rows(&roster, &Sites::new(&roster));
        let found: Vec<_> = rows.iter().map(|r| (r.rank, r.thread, r.calls)).collect();
        assert_eq!(found, [(0, 1, 1), (0, 0, 1), (0, 0, 5), (1, 1, 1), (1, 0, 1), (1, 0, 5)]);
    }
}
