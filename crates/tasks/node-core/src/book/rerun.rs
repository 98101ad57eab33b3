//! Ended tasks that are submitted again, as new ones.

use std::ops::RangeInclusive;

use task_api::{RerunSelection, TaskOutcome};

use super::snapshot::{TaskRun, shared, twice_if_many};
use super::{Book, JournalRecord, OutcomeKind, Task};
use crate::terms::SubmissionTerms;

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
        // Tasks of one submission keep their terms in common.
        let submission = |run: &TaskRun| Some(run.work.as_ref()?.terms.as_ref()?.first);
        for runs in runs.chunk_by(|a, b| submission(a) == submission(b)) {
            let first = runs.first().map_or(0, |run| run.first);
            let n_tasks = runs.iter().map(|run| run.n_tasks).sum::<u64>();
            for run in runs {
                let Some(work) = &run.work else { continue };
                // The tasks that are kept use their surroundings, so that these are known.
                let Ok(idx) = book.shared.number(&work.around) else { continue };
                let terms = work.terms.as_ref().map(|terms| {
                    let new = SubmissionTerms { first, last: first + n_tasks - 1, ..again(terms) };
                    self.with_items(terms, new, (book.next, run))
                });
                let submitted = run.record(shared(work, idx), terms);
                let between = JournalRecord::Next(run.first);
                twice_if_many(&submitted, &between, |record| records.push(record.clone()));
            }
        }
        records
    }

    /// The new terms of a run, with the texts that its tasks had under their old numbers.
    fn with_items(
        &self,
        before: &SubmissionTerms,
        mut new: SubmissionTerms,
        (next, run): (u64, &TaskRun),
    ) -> SubmissionTerms {
        if !before.items.is_empty() {
            let idx = usize::try_from(run.first - next).unwrap_or(usize::MAX);
            let n_tasks = usize::try_from(run.n_tasks).unwrap_or(usize::MAX);
            let numbers = self.numbers.iter().skip(idx).take(n_tasks);
            let item = |number: &u64| before.item(*number).unwrap_or_default().to_owned();
            (new.items, new.items_first) = (numbers.map(item).collect(), run.first);
        }
        new
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

/// Terms for another run: whatever the tasks had waited for has happened.
fn again(terms: &SubmissionTerms) -> SubmissionTerms {
    let mut new = SubmissionTerms { items: Vec::new(), ..terms.clone() };
    new.schedule.after.clear();
    new.schedule.is_held = false;
    new
}

fn new_run(number: u64, task: &Task, at_ms: u64) -> TaskRun {
    TaskRun { at_ms, ..TaskRun::of(number, task) }
}
