//! Totals of the functions chosen with `--probe`, in each rank and over all ranks.
//!
//! Passages arrive either summed by nodes (`sums`), or one by one where every passage was wanted or a ring was
//! spilled to a file (`trace`); each passage arrives in exactly one of these ways.

use super::roster::Roster;
use events::Moments;
use run_record::measured::RunFacts;
use run_record::{FunctionTimes, FunctionTotals};
use std::collections::{BTreeMap, HashMap};
use wire::facts::ProbedFunction;
use wire::{EventSummary, ProcessSum};

/// Maximum number of per-rank times in the summary.
const N_TIMES_MAX: usize = 200_000;

/// Totals of the functions so far.
#[derive(Debug)]
pub(super) struct FunctionTally<'a> {
    roster: &'a Roster<'a>,
    probed: &'a [ProbedFunction],
    /// Role of each event: its function, and whether it counts calls and carries times.
    roles: HashMap<u32, Role>,
    /// Totals by function and rank.
    parts: Vec<BTreeMap<usize, Part>>,
}

#[derive(Clone, Copy, Debug)]
struct Role {
    function: usize,
    counts: bool,
    times: bool,
}

/// Totals of a function in one rank, or in all.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    calls: u64,
    each_s: Moments,
    time_s: f64,
}

impl<'a> FunctionTally<'a> {
    /// Starts with empty totals.
    pub(super) fn new(roster: &'a Roster<'a>, facts: &'a RunFacts) -> Self {
        let numbered = facts.probed.iter().enumerate();
        let roles = numbered.flat_map(|(number, function)| roles(number, function));
        Self {
            roster,
            probed: &facts.probed,
            roles: roles.collect(),
            parts: vec![BTreeMap::new(); facts.probed.len()],
        }
    }

    /// Returns whether an event belongs to one of the functions.
    pub(super) fn has(&self, event: u32) -> bool {
        self.roles.contains_key(&event)
    }

    /// Adds a node's sums of an event.
    pub(super) fn add_node(&mut self, node: &str, event: &EventSummary) {
        for sum in &event.processes {
            if let Some(rank) = self.roster.position(node, sum.process) {
                self.add(rank, event.event, sum);
            }
        }
    }

    /// Adds passages of the rank at this position.
    pub(super) fn add(&mut self, rank: usize, event: u32, sum: &ProcessSum) {
        let Some(role) = self.roles.get(&event).copied() else { return };
        let clock = self.roster.ranks[rank].clock;
        let part = self.parts[role.function].entry(rank).or_default();
        if role.counts {
            part.calls += sum.n;
        }
        if role.times {
            part.each_s.merge(&sum.duration_ticks.scaled(clock.seconds(1)));
            part.time_s += clock.seconds(sum.outer_ticks);
        }
    }

    /// Returns the totals of functions that were called, in descending order of time.
    pub(super) fn finish(self) -> Vec<FunctionTotals> {
        let parts = self.probed.iter().zip(self.parts).filter(|(_, parts)| !parts.is_empty());
        let mut totals: Vec<_> = parts.map(|(function, parts)| total(function, &parts)).collect();
        totals.sort_by(|a, b| {
            let order = b.total.time_s.total_cmp(&a.total.time_s);
            order.then(b.total.calls.cmp(&a.total.calls))
        });
        let with_ranks = N_TIMES_MAX / self.roster.ranks.len().max(1);
        totals.iter_mut().skip(with_ranks).for_each(|function| function.by_rank.clear());
        totals
    }
}

fn roles(number: usize, function: &ProbedFunction) -> impl Iterator<Item = (u32, Role)> {
    let role = |counts, times| Role { function: number, counts, times };
    let is_counted_at_exit = function.entry.is_none();
    let entry = function.entry.map(|event| (event, role(true, false)));
    let exit = function.exit.map(|event| (event, role(is_counted_at_exit, true)));
    entry.into_iter().chain(exit)
}

fn total(function: &ProbedFunction, parts: &BTreeMap<usize, Part>) -> FunctionTotals {
    let mut all = Part::default();
    for part in parts.values() {
        all.calls += part.calls;
        all.each_s.merge(&part.each_s);
        all.time_s += part.time_s;
    }
    let timed = parts.iter().filter(|(_, part)| part.each_s.n != 0);
    let slowest = timed.max_by(|a, b| a.1.time_s.total_cmp(&b.1.time_s));
    FunctionTotals {
        place: function.source.clone(),
        total: all.times(),
        by_rank: parts.iter().map(|(rank, part)| (*rank, part.times())).collect(),
        slowest: slowest.map(|(rank, part)| (*rank, part.time_s)),
    }
}

impl Part {
    fn times(&self) -> FunctionTimes {
        FunctionTimes::new(self.calls, &self.each_s, self.time_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{SECOND, measured, process};

    /// Returns a rank with calls of these durations, in seconds.
    fn sum(rank: u32, times_s: &[u64]) -> (u32, ProcessSum) {
        let mut sum = ProcessSum::of(process(0, rank).key);
        for time_s in times_s {
            sum.n += 1;
            sum.duration_ticks.add((time_s * SECOND) as f64);
            sum.outer_ticks += time_s * SECOND;
        }
        (rank, sum)
    }

    /// Adds entries and exits of a function; checks its calls, time and slowest rank.
    #[track_caller]
    fn check(
        function: &ProbedFunction,
        sums: &[(u32, ProcessSum)],
        expected: (u64, f64, Option<(usize, f64)>),
    ) {
        let measured = measured([process(0, 0), process(0, 1)]);
        let facts = RunFacts { probed: vec![function.clone()], ..RunFacts::default() };
        let roster = Roster::new(&measured, facts.started_s);
        let mut functions = FunctionTally::new(&roster, &facts);
        for event in [4, 5] {
            for (_, sum) in sums {
                let processes = vec![*sum];
                let summary = EventSummary { event, processes, ..EventSummary::default() };
                functions.add_node("node0", &summary);
                functions.add_node("elsewhere", &summary);
            }
        }
        let totals = functions.finish();
        let [totals] = &totals[..] else { panic!("{totals:?}") };
        let found = (totals.total.calls, totals.total.time_s, totals.slowest);
        assert_eq!(found, expected);
        assert_eq!(totals.by_rank.len(), sums.len());
    }

    #[test]
    fn ranks_add_up() {
        let both = ProbedFunction { entry: Some(4), exit: Some(5), ..ProbedFunction::default() };
        check(&both, &[sum(0, &[1, 2]), sum(1, &[7])], (3, 10.0, Some((1, 7.0))));
        check(&both, &[sum(1, &[7])], (1, 7.0, Some((1, 7.0))));
        let exit = ProbedFunction { entry: None, ..both.clone() };
        check(&exit, &[sum(0, &[1, 2])], (2, 3.0, Some((0, 3.0))));
        let entry = ProbedFunction { exit: None, ..both };
        check(&entry, &[sum(0, &[1, 2])], (2, 0.0, None));
    }

    #[test]
    fn functions_that_were_not_called_are_left_out() {
        let facts = RunFacts { probed: vec![ProbedFunction::default()], ..RunFacts::default() };
        let roster = Roster::default();
        assert_eq!(FunctionTally::new(&roster, &facts).finish(), []);
    }
}
