//! Ended tasks that are submitted again, as new ones.

use std::ops::RangeInclusive;

use task_api::{RerunSelection, TaskOutcome};

use super::snapshot::{TaskRun, shared, twice_if_many};
use super::{Book, JournalRecord, OutcomeKind, Task};
use crate::attempt::SubmissionRules;

/// Ended tasks of a range, by what a selection takes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RerunTasks {
    /// Numbers of those that are taken, in order.
    pub numbers: Vec<u64>,
    /// First of those that would be taken, if more than their outcome were kept.
    pub first_forgotten: Option<u64>,
    /// Number of these.
    pub n_forgotten: u64,
}

impl RerunTasks {
    /// Ended tasks of a range that are to run again.
    pub fn of(book: &Book, range: RangeInclusive<u64>, which: RerunSelection) -> Self {
        let (first, last) = range.into_inner();
        let holds = |outcome: &TaskOutcome| which.holds(outcome);
        let tasks = book.tasks_from(first).take_while(|(number, _)| *number <= last);
        let taken = tasks.filter(|(_, task)| task.outcome().is_some_and(holds));
        let mut found =
            Self { numbers: taken.map(|(number, _)| number).collect(), ..Default::default() };
        let is_taken = |brief: OutcomeKind| which.holds(&brief.outcome());
        for run in book.archive.runs(first, last).filter(|run| is_taken(run.brief)) {
            found.first_forgotten.get_or_insert(run.first);
            found.n_forgotten = found.n_forgotten.saturating_add(run.n_tasks());
        }
        found
    }

    /// Records that submit those that are taken again, with consecutive new numbers and the same array indices.
    pub fn records(&self, book: &Book, at_ms: u64) -> Vec<JournalRecord> {
        let mut records = Vec::new();
        let runs = self.runs(book, at_ms);
        // Tasks of one submission keep their rules in common.
        let submission = |run: &TaskRun| run.work.as_ref()?.rules.map(|rules| rules.first);
        for runs in runs.chunk_by(|a, b| submission(a) == submission(b)) {
            let first = runs.first().map_or(0, |run| run.first);
            let n_tasks = runs.iter().map(|run| run.n_tasks).sum();
            for run in runs {
                let Some(work) = &run.work else { continue };
                // The tasks that are kept use their surroundings, so that these are known.
                let Ok(idx) = book.shared.number(&work.around) else { continue };
                let failures = work.rules.map(|rules| rules.failures);
                let rules = failures.and_then(|it| SubmissionRules::new(first, n_tasks, it));
                let submitted = run.record(shared(work, idx), rules);
                let between = JournalRecord::Next(run.first);
                twice_if_many(&submitted, &between, |record| records.push(record.clone()));
            }
        }
        records
    }

    fn runs(&self, book: &Book, at_ms: u64) -> Vec<TaskRun> {
        let mut runs = Vec::<TaskRun>::new();
        let mut next = book.next;
        let tasks = self.numbers.iter().filter_map(|number| book.task(*number));
        for task in tasks {
            let is_taken = runs.last_mut().is_some_and(|run| run.takes(next, task));
            if !is_taken {
                runs.push(new_run(next, task, at_ms));
            }
            next = next.saturating_add(1);
        }
        runs
    }
}

fn new_run(number: u64, task: &Task, at_ms: u64) -> TaskRun {
    TaskRun { at_ms, ..TaskRun::of(number, task) }
}
