//! Participants of a run: worlds in order of their start, ranks in order of their numbers.

use super::time::{Clocks, ProcessClock};
use events::{ProcessKey, Rank, RegionCounters, Ticks, WorldId};
use run_record::measured::MeasuredRun;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use wire::{InCall, ProcessReport, ThreadReport};

/// Worlds and ranks of a run.
#[derive(Debug, Default)]
pub(super) struct Roster<'a> {
    /// Worlds in order of their start, each as a range of positions in `ranks`.
    pub(super) worlds: Vec<Range<usize>>,
    /// Ranks ordered by world and rank.
    pub(super) ranks: Vec<RankProcess<'a>>,
    /// [`ProcessReport::node`] of all nodes; [`RankProcess::node`] is a position in this list.
    pub(super) nodes: Vec<&'a str>,
    /// Positions in `ranks` by node and process.
    positions: HashMap<(&'a str, ProcessKey), usize>,
}

/// Rank and its process.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankProcess<'a> {
    pub(super) report: &'a ProcessReport,
    pub(super) clock: ProcessClock,
    /// Position in [`Roster::worlds`].
    pub(super) world: usize,
    /// Position in [`Roster::nodes`].
    pub(super) node: usize,
}

/// Call that had not returned when the process was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenCall {
    pub(super) call: InCall,
    pub(super) ticks: u64,
}

impl<'a> Roster<'a> {
    /// Takes the processes of a run that started at `started_s`, in s since 1970.
    pub(super) fn new(measured: &'a MeasuredRun, started_s: f64) -> Self {
        let clocks = Clocks::new(&measured.processes, &measured.nodes, started_s);
        let nodes: BTreeSet<&str> = measured.processes.iter().map(|p| p.node.as_str()).collect();
        let nodes: Vec<&str> = nodes.into_iter().collect();
        let mut roster = Self { nodes, ..Self::default() };
        for world in in_order_of_start(&measured.processes, &clocks) {
            let first = roster.ranks.len();
            let idx = roster.worlds.len();
            let ranks = world.into_iter().map(|report| RankProcess {
                report,
                clock: clocks.of(report),
                world: idx,
                node: roster.nodes.partition_point(|node| *node < report.node.as_str()),
            });
            roster.ranks.extend(ranks);
            roster.worlds.push(first..roster.ranks.len());
        }
        let keys = roster.ranks.iter().map(|rank| (rank.report.node.as_str(), rank.report.key));
        roster.positions = keys.zip(0..).collect();
        roster
    }

    /// Returns the position of a process in [`Roster::ranks`].
    pub(super) fn position(&self, node: &str, process: ProcessKey) -> Option<usize> {
        self.positions.get(&(node, process)).copied()
    }

    /// The ranks of a world.
    pub(super) fn of_world(&self, world: &Range<usize>) -> &[RankProcess<'a>] {
        &self.ranks[world.clone()]
    }
}

/// Time of each rank that has one, by position in [`Roster::ranks`].
pub(super) type TimeByRank = Vec<(usize, f64)>;

/// Adds to the time of a rank; ranks are added in order.
pub(super) fn add_time(by_rank_s: &mut TimeByRank, rank: usize, time_s: f64) {
    match by_rank_s.last_mut() {
        Some((last, sum_s)) if *last == rank => *sum_s += time_s,
        _ => by_rank_s.push((rank, time_s)),
    }
}

/// Returns the processes of each world by rank, with worlds in order of their start.
fn in_order_of_start<'a>(
    processes: &'a [ProcessReport],
    clocks: &Clocks<'_>,
) -> Vec<Vec<&'a ProcessReport>> {
    let start_ns = |report: &ProcessReport| clocks.of(report).ns_at(report.init_end);
    let mut ordered: Vec<&ProcessReport> = processes.iter().collect();
    ordered.sort_by_key(|report| (start_ns(report), report.rank, report.key));
    let mut n_seen: HashMap<(WorldId, Rank), usize> = HashMap::new();
    let mut worlds: BTreeMap<(WorldId, usize), Vec<&ProcessReport>> = BTreeMap::new();
    for report in ordered {
        // A world has each rank only once: a second process with the same rank belongs to a later
        // world of the same number.
        let turn = n_seen.entry((report.world, report.rank)).or_default();
        worlds.entry((report.world, *turn)).or_default().push(report);
        *turn += 1;
    }
    let mut worlds: Vec<Vec<&ProcessReport>> = worlds.into_values().collect();
    // Up to here, the first process of each world is the one that started first.
    worlds.sort_by_key(|world| (start_ns(world[0]), world[0].world));
    for world in &mut worlds {
        world.sort_by_key(|report| report.rank);
    }
    worlds
}

impl<'a> RankProcess<'a> {
    /// Returns when the rank called `MPI_Finalize`, or was last seen active.
    pub(super) fn end(&self) -> Ticks {
        let last_seen = || {
            let left = self.report.threads.iter().map(|thread| thread.since);
            left.chain([self.report.now]).max().unwrap_or(self.report.now)
        };
        self.report.finalize_begin.unwrap_or_else(last_seen)
    }

    /// Returns the time from the end of `MPI_Init` to the rank's end, in s.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.clock.seconds(self.end().0.saturating_sub(self.report.init_end.0))
    }

    /// Returns the time spent inside MPI by the thread that called `MPI_Init`, in s.
    pub(super) fn mpi_s(&self) -> f64 {
        let Some(thread) = self.main_thread() else { return 0.0 };
        let during = thread.regions.iter().filter(|region| !is_start_or_end(region));
        let ticks: u64 = during.map(|region| region.mpi_ticks).sum();
        let open = self.open_call(thread).map_or(0, |open| open.ticks);
        self.clock.seconds(ticks.saturating_add(open)).min(self.elapsed_s())
    }

    pub(super) fn main_thread(&self) -> Option<&'a ThreadReport> {
        self.report.threads.iter().find(|thread| thread.idx == self.report.main_thread)
    }

    /// Returns the part of the calls' `ticks` in the observed time, in s; `MPI_Init` and `MPI_Finalize` lie outside.
    pub(super) fn call_s(&self, counters: &RegionCounters, ticks: u64) -> f64 {
        if is_start_or_end(counters) { 0.0 } else { self.clock.seconds(ticks) }
    }

    /// Returns the number of a thread in records: 0 called `MPI_Init`, the others follow in order of their first call.
    pub(super) fn thread_number(&self, idx: u32) -> u32 {
        let main = self.report.main_thread;
        if idx == main { 0 } else { idx + u32::from(idx < main) }
    }

    /// Returns the call that a thread is in, unless the process is already past `MPI_Finalize`.
    pub(super) fn open_call(&self, thread: &ThreadReport) -> Option<OpenCall> {
        let call = thread.in_call.filter(|_| self.report.finalize_begin.is_none())?;
        (!STARTS_AND_ENDS.contains(&operation_name(call.operation))).then(|| OpenCall {
            call,
            ticks: self.end().0.saturating_sub(thread.since.0.max(self.report.init_end.0)),
        })
    }
}

const STARTS_AND_ENDS: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"];

/// Returns whether the calls lie outside the time between `MPI_Init` and `MPI_Finalize`.
fn is_start_or_end(region: &RegionCounters) -> bool {
    STARTS_AND_ENDS.contains(&operation_name(region.operation))
}

/// Returns the MPI name of an operation; empty if a newer probe recorded it.
pub(super) fn operation_name(number: u16) -> &'static str {
    mpi_abi::operation(events::OperationId(number)).map_or("", |operation| &operation.name)
}

/// Returns one value for each of `n_ranks` ranks, 0 where none is given.
pub(super) fn dense(by_rank: &[(usize, f64)], n_ranks: usize) -> Vec<f64> {
    let mut dense = vec![0.0; n_ranks];
    for (rank, value) in by_rank {
        if let Some(place) = dense.get_mut(*rank) {
            *place = *value;
        }
    }
    dense
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{FIRST_TICKS, SECOND, measured, process, process_with, region};

    /// Checks the world numbers and ranks, in order.
    #[track_caller]
    fn check(processes: Vec<ProcessReport>, expected: &[(u64, &[u32])]) {
        let measured = measured(processes);
        let roster = Roster::new(&measured, 0.0);
        let found = roster.worlds.iter().map(|world| {
            let ranks = roster.of_world(world);
            let numbers: Vec<u32> = ranks.iter().map(|rank| rank.report.rank.0).collect();
            (ranks[0].report.world.0, numbers)
        });
        let expected = expected.iter().map(|(world, ranks)| (*world, ranks.to_vec()));
        assert!(found.eq(expected), "{roster:?}");
    }

    fn later(mut process: ProcessReport, by_s: u64) -> ProcessReport {
        process.init_end.0 += by_s * SECOND;
        process
    }

    #[test]
    fn worlds_stand_in_the_order_of_their_start_and_ranks_by_number() {
        check(vec![], &[]);
        check(vec![process(5, 1), process(5, 0)], &[(5, &[0, 1])]);
        let mixed =
            [later(process(1, 0), 3), process(9, 1), later(process(1, 1), 2), process(9, 0)];
        check(mixed.to_vec(), &[(9, &[0, 1]), (1, &[0, 1])]);
        check(vec![process(0, 0), later(process(0, 0), 4)], &[(0, &[0]), (0, &[0])]);
    }

    #[test]
    fn nodes_are_numbered() {
        let mut other = process(0, 1);
        other.node = "a-node".into();
        let measured = measured(vec![process(0, 0), other]);
        let roster = Roster::new(&measured, 0.0);
        assert_eq!(roster.nodes, ["a-node", "node0"]);
        assert_eq!(roster.ranks.iter().map(|r| r.node).collect::<Vec<_>>(), [1, 0]);
    }

    /// Checks the elapsed time and the time in MPI of the only rank.
    #[track_caller]
    fn check_times(change: impl FnOnce(&mut ProcessReport), expected: (f64, f64)) {
        let regions = vec![region(0, (0, 0x10), "MPI_Recv", 1, (2.0, 1.0))];
        let mut report = process_with(0, 0, regions);
        change(&mut report);
        let measured = measured(vec![report]);
        let roster = Roster::new(&measured, 0.0);
        let (elapsed_s, mpi_s) = (roster.ranks[0].elapsed_s(), roster.ranks[0].mpi_s());
        assert!((elapsed_s - expected.0).abs() < 1e-6, "{elapsed_s}");
        assert!((mpi_s - expected.1).abs() < 1e-6, "{mpi_s}");
    }

    #[test]
    fn a_rank_lasts_from_init_to_finalize_or_until_it_was_last_seen() {
        check_times(|_| {}, (10.0, 2.0));
        check_times(|r| r.init_end.0 += SECOND, (9.0, 2.0));
        check_times(|r| r.finalize_begin = None, (11.0, 2.0));
        check_times(|r| r.threads.clear(), (10.0, 0.0));
        check_times(|r| r.main_thread = 1, (10.0, 0.0));
        let init = region(0, (0, 0x20), "MPI_Init", 1, (5.0, 0.0));
        check_times(|r| r.threads[0].regions.push(init), (10.0, 2.0));
    }

    #[test]
    fn a_call_that_never_returned_counts_until_the_end() {
        let operation = crate::samples::operation_number("MPI_Barrier");
        let stuck = |r: &mut ProcessReport| {
            r.threads[0].in_call = Some(InCall { operation, address: 1 });
            r.threads[0].since = Ticks(FIRST_TICKS + 3 * SECOND);
        };
        let died = |r: &mut ProcessReport| {
            stuck(r);
            r.finalize_begin = None;
        };
        check_times(died, (11.0, 10.0));
        check_times(stuck, (10.0, 2.0));
    }

    #[test]
    fn the_main_thread_is_number_0() {
        let mut report = process(0, 0);
        report.main_thread = 2;
        let measured = measured(vec![report]);
        let roster = Roster::new(&measured, 0.0);
        let numbers = [0, 1, 2, 3].map(|idx| roster.ranks[0].thread_number(idx));
        assert_eq!(numbers, [1, 2, 0, 3]);
    }
}
