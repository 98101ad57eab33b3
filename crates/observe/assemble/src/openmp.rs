//! OpenMP regions over all ranks, and the times of threads in them.

use super::roster::{RankProcess, Roster, TimeByRank, add_time, dense};
use super::source_lookup::SourceLookup;
use events::{CodeAddress, ModuleMap, OpenMpCounters};
use run_record::summary::{OpenMpRegion, SourceLocation};
use std::collections::BTreeMap;

/// Maximum number of regions in the summary.
const N_REGIONS_MAX: usize = 200;
/// Limit on ranks times regions with times by rank.
const N_TIMES_MAX: usize = 100_000;

/// A region at one place of the program, over all ranks.
#[derive(Default)]
struct Total {
    region: OpenMpRegion,
    /// Longest computing time of a thread times the threads, over executions without tasks.
    all_busy_s: f64,
    n_with_tasks: u64,
    by_rank_s: TimeByRank,
}

/// Returns the regions in descending order of time.
pub(super) fn regions(roster: &Roster<'_>, lookup: &mut dyn SourceLookup) -> Vec<OpenMpRegion> {
    let mut totals: BTreeMap<(String, u64), Total> = BTreeMap::new();
    for (idx, rank) in roster.ranks.iter().enumerate() {
        if rank.report.openmp.is_empty() {
            continue;
        }
        let (map, _problems) = ModuleMap::parse(&rank.report.modules);
        for counters in &rank.report.openmp {
            let at = map.locate(counters.address);
            let key = at.map(|at| (at.module.to_owned(), at.file_offset)).unwrap_or_default();
            totals.entry(key).or_default().add((idx, rank), counters);
        }
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by(|(_, a), (_, b)| b.region.time_s.total_cmp(&a.region.time_s));
    totals.truncate(N_REGIONS_MAX);
    let n_ranks = roster.ranks.len();
    let n_ranks = if n_ranks * totals.len() <= N_TIMES_MAX { n_ranks } else { 0 };
    let named = totals.into_iter().map(|((module, file_offset), total)| OpenMpRegion {
        place: place(lookup, &module, file_offset),
        ..total.finish(n_ranks)
    });
    named.collect()
}

/// Returns the place of a region; GCC makes a function of each region, named after the one in which it stands.
fn place(lookup: &mut dyn SourceLookup, module: &str, file_offset: u64) -> SourceLocation {
    if module.is_empty() {
        return SourceLocation::default();
    }
    let mut place = lookup.place(&CodeAddress { module, file_offset });
    if let Some((outer, _number)) = place.function.split_once("._omp_fn") {
        place.function = outer.to_owned();
    }
    place
}

impl Total {
    fn add(&mut self, (idx, rank): (usize, &RankProcess<'_>), counters: &OpenMpCounters) {
        let seconds = |ticks| rank.clock.seconds(ticks);
        let region = &mut self.region;
        let time_s = seconds(counters.elapsed_ticks);
        region.executions += counters.n_executions;
        region.threads = region.threads.max(counters.n_threads_max);
        region.time_s += time_s;
        region.team_s += seconds(counters.team_ticks);
        region.busy_s += seconds(counters.busy_ticks);
        region.waiting_s += seconds(counters.waiting_ticks());
        region.starting_s += seconds(counters.late_ticks);
        region.mpi_s += seconds(counters.mpi_ticks);
        let n_threads = counters.team_ticks as f64 / counters.elapsed_ticks.max(1) as f64;
        self.all_busy_s += seconds(counters.busy_max_ticks) * n_threads;
        self.n_with_tasks += counters.n_with_tasks;
        add_time(&mut self.by_rank_s, idx, time_s);
    }

    fn finish(self, n_ranks: usize) -> OpenMpRegion {
        let balance = self.region.busy_s / self.all_busy_s.max(f64::MIN_POSITIVE);
        OpenMpRegion {
            load_balance: (self.n_with_tasks == 0).then_some(balance.min(1.0)),
            time_by_rank_s: dense(&self.by_rank_s, n_ranks),
            ..self.region
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{SECOND, measured, process, text_of};
    use wire::ProcessReport;

    struct Named;

    impl SourceLookup for Named {
        fn place(&mut self, address: &CodeAddress<'_>) -> SourceLocation {
            SourceLocation {
                function: "solve._omp_fn.3".into(),
                offset: address.file_offset,
                ..SourceLocation::default()
            }
        }

        fn has_lines(&mut self, _address: &CodeAddress<'_>) -> bool {
            true
        }
    }

    /// Returns a rank that executed a region of two threads for 4 s; the threads computed for 4 s and `other_s`.
    fn rank(rank: u32, other_s: u64, n_with_tasks: u64) -> ProcessReport {
        let region = OpenMpCounters {
            address: text_of(rank) + 0x31,
            n_executions: 2,
            elapsed_ticks: 4 * SECOND,
            team_ticks: 8 * SECOND,
            busy_ticks: (4 + other_s) * SECOND,
            busy_max_ticks: 4 * SECOND,
            n_threads_max: 2,
            n_with_tasks,
            ..OpenMpCounters::default()
        };
        ProcessReport { openmp: vec![region], ..process(0, rank) }
    }

    #[test]
    fn a_region_is_one_whatever_its_address_in_a_process() {
        let measured = measured([rank(0, 1, 0), rank(1, 3, 0)]);
        let roster = Roster::new(&measured, 0.0);
        let regions = regions(&roster, &mut Named);
        assert_eq!(regions.len(), 1);
        let region = &regions[0];
        assert_eq!((region.executions, region.threads), (4, 2));
        assert_eq!(region.place.function, "solve");
        assert_eq!((region.time_s, region.busy_s, region.waiting_s), (8.0, 12.0, 4.0));
        assert_eq!(region.load_balance, Some(0.75));
        assert_eq!(region.time_by_rank_s, [4.0, 4.0]);
        let team = crate::efficiency::team_time(&roster.ranks[0]);
        assert_eq!((team.n_threads, team.outside_mpi_s, team.busy_s), (2.0, 10.0, 5.0));
    }

    #[test]
    fn of_tasks_no_balance_is_known() {
        let measured = measured([rank(0, 4, 1)]);
        let regions = regions(&Roster::new(&measured, 0.0), &mut Named);
        assert_eq!(regions[0].load_balance, None);
    }
}
