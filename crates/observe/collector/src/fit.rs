//! Shortens a report to fit into a message: rarely used regions become totals by operation.

use events::RegionCounters;
use std::collections::BTreeMap;
use wire::ProcessReport;

/// Keeps the `n_kept` regions of each thread with the most time, and sums the rest by operation in entries with
/// address 0, so that no calls and no time are lost.
pub(crate) fn shorten(report: &mut ProcessReport, n_kept: usize) {
    for thread in &mut report.threads {
        let is_total = |region: &RegionCounters| region.address == 0 && region.previous == 0;
        thread.regions.sort_by_key(|region| {
            let ticks = region.mpi_ticks.saturating_add(region.compute_ticks);
            (!is_total(region), std::cmp::Reverse(ticks))
        });
        let n_totals = thread.regions.iter().filter(|region| is_total(region)).count();
        let n_left = thread.regions.len().min(n_totals + n_kept);
        let rest = thread.regions.split_off(n_left);
        let mut totals: BTreeMap<u16, RegionCounters> = BTreeMap::new();
        for region in thread.regions.drain(..n_totals).chain(rest) {
            if !is_total(&region) {
                thread.calls_without_region += region.n_calls;
            }
            add(totals.entry(region.operation).or_default(), &region);
        }
        thread.regions.extend(totals.into_values());
    }
}

fn add(total: &mut RegionCounters, region: &RegionCounters) {
    total.operation = region.operation;
    total.n_calls += region.n_calls;
    total.mpi_ticks += region.mpi_ticks;
    total.compute_ticks += region.compute_ticks;
    total.mpi_ticks_max = total.mpi_ticks_max.max(region.mpi_ticks_max);
    total.bytes += region.bytes;
    total.sizes.add(&region.sizes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ThreadReport;

    fn region(address: u64, operation: u16, mpi_ticks: u64) -> RegionCounters {
        RegionCounters { address, operation, mpi_ticks, n_calls: 1, ..RegionCounters::default() }
    }

    #[track_caller]
    fn check(regions: &[(u64, u16, u64)], n_kept: usize, expected: &[(u64, u16, u64)]) {
        let regions =
            regions.iter().map(|(address, operation, ticks)| region(*address, *operation, *ticks));
        let thread = ThreadReport { regions: regions.collect(), ..ThreadReport::default() };
        let mut report = ProcessReport { threads: vec![thread], ..ProcessReport::default() };
        shorten(&mut report, n_kept);
        let left = &report.threads[0].regions;
        let left: Vec<_> = left.iter().map(|r| (r.address, r.operation, r.mpi_ticks)).collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn the_longest_regions_stay_and_the_rest_is_added_up() {
        check(&[], 2, &[]);
        check(&[(1, 5, 10)], 2, &[(1, 5, 10)]);
        check(
            &[(1, 5, 10), (2, 5, 30), (3, 6, 20), (4, 5, 1)],
            2,
            &[(2, 5, 30), (3, 6, 20), (0, 5, 11)],
        );
        check(&[(1, 5, 10), (0, 5, 30), (2, 6, 20)], 1, &[(2, 6, 20), (0, 5, 40)]);
        check(&[(1, 5, 10), (2, 6, 20)], 0, &[(0, 5, 10), (0, 6, 20)]);
    }
}
