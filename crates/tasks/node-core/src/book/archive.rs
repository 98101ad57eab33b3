//! Outcomes of tasks that are no longer kept one by one: ranges of numbers with the same outcome, and beyond a
//! bound on these only a count for each outcome.

use std::collections::BTreeMap;

use task_api::{OutcomeCount, OutcomeRange, TaskOutcome};

use super::record::{ArchivedRange, JournalRecord, OutcomeKind};

/// Most ranges that are kept; an array whose tasks all end alike takes one.
const N_RUNS_MAX: usize = 200_000;
/// Most ranges of one record: a damaged spot loses no more.
const N_RUNS_AT_ONCE: usize = 500;

/// Summary of tasks that ended long ago.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeArchive {
    /// Ranges by their first numbers: last number, and outcome.
    runs: BTreeMap<u64, (u64, OutcomeKind)>,
    /// Counts of tasks that are in no range.
    counts: BTreeMap<OutcomeKind, u64>,
    n_outputs_dropped: u64,
    output_bytes_dropped: u64,
}

impl OutcomeArchive {
    /// Outcome of a task, if it is known.
    pub fn outcome(&self, number: u64) -> Option<TaskOutcome> {
        let (_, (last, brief)) = self.runs.range(..=number).next_back()?;
        (number <= *last).then(|| brief.outcome())
    }

    /// Ranges of tasks with the same outcome, cut to these numbers.
    pub fn runs(&self, first: u64, last: u64) -> impl DoubleEndedIterator<Item = ArchivedRange> {
        let before = self.runs.range(..first).next_back().filter(|(_, (end, _))| first <= *end);
        let begin = before.map_or(first, |(begin, _)| *begin);
        let runs = self.runs.range(begin..=last.max(begin));
        runs.map(move |(begin, (end, brief))| ArchivedRange {
            first: first.max(*begin),
            last: last.min(*end),
            brief: *brief,
        })
        .filter(|run| run.first <= run.last)
    }

    /// Number of these tasks by outcome, with the last `n_runs_max` ranges of them, where the outcome `holds`. Tasks of
    /// which only counts are kept are included only where all tasks are asked for.
    pub fn summary(
        &self,
        (first, last): (u64, u64),
        n_runs_max: usize,
        holds: impl Fn(&TaskOutcome) -> bool,
    ) -> task_api::OutcomeSummary {
        let is_all = first <= 1 && last == u64::MAX;
        let mut counts = if is_all { self.counts.clone() } else { BTreeMap::new() };
        counts.retain(|brief, _| holds(&brief.outcome()));
        let runs = || self.runs(first, last).filter(|run| holds(&run.brief.outcome()));
        for run in runs() {
            let count = counts.entry(run.brief).or_default();
            *count = count.saturating_add(run.n_tasks());
        }
        let mut runs = runs().rev().take(n_runs_max).collect::<Vec<_>>();
        runs.reverse();
        let run = |run: ArchivedRange| {
            let ArchivedRange { first, last, brief } = run;
            OutcomeRange { first, last, outcome: brief.outcome() }
        };
        let count = |(brief, n_tasks): (OutcomeKind, u64)| OutcomeCount {
            outcome: brief.outcome(),
            n_tasks,
        };
        task_api::OutcomeSummary {
            n_tasks: sum(counts.values().copied()),
            outcomes: counts.into_iter().map(count).collect(),
            runs: runs.into_iter().map(run).collect(),
        }
    }

    /// Number of tasks in the summary.
    pub fn n_tasks(&self) -> u64 {
        sum(self.runs(0, u64::MAX).map(ArchivedRange::n_tasks).chain(self.counts.values().copied()))
    }

    /// Number of tasks whose output was dropped, and its bytes.
    pub fn dropped(&self) -> (u64, u64) {
        (self.n_outputs_dropped, self.output_bytes_dropped)
    }

    pub(super) fn drop_outputs(&mut self, n_outputs: u64, n_bytes: u64) {
        self.n_outputs_dropped = self.n_outputs_dropped.saturating_add(n_outputs);
        self.output_bytes_dropped = self.output_bytes_dropped.saturating_add(n_bytes);
    }

    /// Adds a range and joins it with neighbors of the same outcome; a range that overlaps a known one is ignored.
    pub(super) fn add(&mut self, run: ArchivedRange) {
        let ArchivedRange { mut first, mut last, brief } = run;
        if last < first || self.runs(first, last).next().is_some() {
            return;
        }
        if let Some((&begin, &(end, before))) = self.runs.range(..first).next_back()
            && end.checked_add(1) == Some(first)
            && before == brief
        {
            first = begin;
        }
        if let Some(next) = last.checked_add(1)
            && let Some(&(end, after)) = self.runs.get(&next)
            && after == brief
        {
            self.runs.remove(&next);
            last = end;
        }
        self.runs.insert(first, (last, brief));
        while N_RUNS_MAX < self.runs.len()
            && let Some((first, (last, brief))) = self.runs.pop_first()
        {
            self.count(brief, ArchivedRange { first, last, brief }.n_tasks());
        }
    }

    pub(super) fn count(&mut self, brief: OutcomeKind, n_tasks: u64) {
        let count = self.counts.entry(brief).or_default();
        *count = count.saturating_add(n_tasks);
    }

    /// Records that hold all of it.
    pub(super) fn records(&self) -> Vec<JournalRecord> {
        let runs = self.runs(0, u64::MAX).collect::<Vec<_>>();
        let runs = runs.chunks(N_RUNS_AT_ONCE).map(|runs| JournalRecord::Past(runs.to_vec()));
        let counts = self.counts.iter().map(|(brief, n_tasks)| (*brief, *n_tasks)).collect();
        let (n_outputs, n_bytes) = self.dropped();
        let is_plain = self.counts.is_empty() && (n_outputs, n_bytes) == (0, 0);
        let counts = JournalRecord::PastCounts { counts, n_outputs, n_bytes };
        runs.chain((!is_plain).then_some(counts)).collect()
    }
}

/// Sum of numbers from a journal, which may be damaged: at most `u64::MAX`.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(runs: &[(u64, u64, i32)]) -> OutcomeArchive {
        let mut past = OutcomeArchive::default();
        for &(first, last, code) in runs {
            past.add(ArchivedRange { first, last, brief: OutcomeKind::Exit(code) });
        }
        past
    }

    #[track_caller]
    fn check(runs: &[(u64, u64, i32)], expected: &[(u64, u64, i32)]) {
        let past = past(runs);
        let found = past.runs(0, u64::MAX).map(|run| (run.first, run.last, run.brief));
        let expected = expected.iter().map(|it| (it.0, it.1, OutcomeKind::Exit(it.2)));
        assert!(found.eq(expected), "{past:?}");
    }

    #[test]
    fn neighbors_that_ended_alike_are_one_range() {
        check(&[(1, 1, 0), (3, 3, 0), (2, 2, 0)], &[(1, 3, 0)]);
        check(&[(1, 1, 0), (2, 2, 1), (3, 3, 0)], &[(1, 1, 0), (2, 2, 1), (3, 3, 0)]);
        check(&[(1, 5, 0), (3, 3, 1), (6, 9, 0)], &[(1, 9, 0)]);
        check(&[(5, 4, 0), (u64::MAX, u64::MAX, 0)], &[(u64::MAX, u64::MAX, 0)]);
    }

    #[test]
    fn a_part_of_a_range_is_found() {
        let past = past(&[(1, 5, 0), (6, 9, 2), (20, 29, 0)]);
        let found = past.runs(4, 21).map(|run| (run.first, run.last)).collect::<Vec<_>>();
        assert_eq!(found, [(4, 5), (6, 9), (20, 21)]);
        assert_eq!(past.runs(10, 19).count(), 0);
        assert_eq!((past.outcome(7), past.outcome(10)), (Some(TaskOutcome::Exit(2)), None));
        let brief = past.summary((1, 25), 1, |_| true);
        assert_eq!((brief.n_tasks, brief.outcomes.len(), brief.runs.len()), (15, 2, 1));
        let failed = past.summary((1, 25), 9, TaskOutcome::is_failure);
        assert_eq!((failed.n_tasks, failed.runs.len()), (4, 1));
        assert_eq!(past.n_tasks(), 19);
    }

    /// Fault: the kept outcomes had a bound, and beyond it nothing was known of tasks.
    #[test]
    fn where_all_end_differently_they_are_still_counted() {
        let mut past = OutcomeArchive::default();
        for number in 1..=N_RUNS_MAX as u64 + 1000 {
            let brief = if number % 2 == 0 { OutcomeKind::Exit(0) } else { OutcomeKind::Canceled };
            past.add(ArchivedRange { first: number, last: number, brief });
        }
        assert_eq!((past.runs.len(), past.n_tasks()), (N_RUNS_MAX, N_RUNS_MAX as u64 + 1000));
        assert_eq!(past.counts[&OutcomeKind::Canceled], 500);
    }
}
