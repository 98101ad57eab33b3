//! Snapshot of a book: the fewest records that make it again.

use std::sync::Arc;

use task_api::{Submission, TaskOutcome, TaskState};

use super::{Book, EndRecord, JournalRecord, Lease, Task, spans};
use crate::attempt::{ExecContext, Work};
use crate::peer_message::SharedWork;
use crate::terms::SubmissionTerms;

impl Book {
    /// Records that turn a submission into tasks: its surroundings and the submission; records that many tasks
    /// depend on are there twice.
    pub fn records_of(&self, submission: &Submission, at_ms: u64) -> Vec<JournalRecord> {
        let around = ExecContext::of(submission);
        let (idx, is_new) = match self.shared.number(&around) {
            Ok(idx) => (idx, false),
            Err(idx) => (idx, true),
        };
        let around = JournalRecord::Around { idx, around };
        let work = SharedWork {
            title: submission.name.clone(),
            words: submission.command.join("\0"),
            around_idx: idx,
        };
        let terms = SubmissionTerms::of(self.next, submission);
        let mut records = Vec::with_capacity(4);
        if is_new {
            records.push(around.clone());
        }
        for run in runs_of(self.next, submission, at_ms) {
            let terms = terms.as_ref().map(|terms| terms.with_items_of(run.first, run.n_tasks));
            let submitted = run.record(work.clone(), terms);
            twice_if_many(&submitted, &around, |record| records.push(record.clone()));
        }
        if is_new && submission.n_tasks() == 1 {
            records.push(around);
        }
        records
    }

    /// Writes records that make this book again, with as much of its tasks' events as it keeps.
    pub fn snapshot(&mut self, mut write: impl FnMut(&JournalRecord)) {
        let arounds = self.shared.forget_unused();
        let arounds = arounds
            .into_iter()
            .map(|(idx, around)| JournalRecord::Around { idx, around: (*around).clone() })
            .collect::<Vec<_>>();
        arounds.iter().for_each(&mut write);
        let mut run = TaskRun::default();
        for (number, task) in self.tasks.within(0..=u64::MAX) {
            if !run.takes(number, task) {
                run.flush(self, &mut write);
                run = TaskRun::of(number, task);
            }
        }
        run.flush(self, &mut write);
        // The oldest first: they are forgotten in this order.
        for number in &self.ended {
            let Some(task) = self.tasks.get(*number) else { continue };
            if let Some(end) = end_of(*number, task) {
                write(&JournalRecord::of_end(end));
            }
            write_history(*number, task, &mut write);
        }
        for ended in self.foreign.values() {
            write(&JournalRecord::of_foreign_end(ended.clone()));
        }
        for (first, last) in self.tasks.uncertain() {
            write(&JournalRecord::Doubted { first, last });
        }
        // Behind all ends, which are counted as well.
        self.tasks.arrays().records().for_each(|record| write(&record));
        self.archive.records().iter().for_each(&mut write);
        self.damages.record().iter().for_each(&mut write);
        write(&JournalRecord::Next(self.next));
        // Surroundings that many submissions depend on are there twice: one damaged spot does not take both.
        arounds.iter().for_each(&mut write);
    }
}

/// Writes the state of a task that has not ended, with its lease.
fn write_state(
    number: u64,
    task: &Task,
    lease: Option<&Lease>,
    write: &mut impl FnMut(&JournalRecord),
) {
    if task.is_over() {
        return;
    }
    let (instance, n_lost, at_ms) = (task.instance, task.n_lost, task.submitted_ms);
    if 0 < instance {
        write(&JournalRecord::Tried { number, instance, n_lost });
    }
    let retry = task.failed();
    if 0 < retry.n_failed {
        write(&JournalRecord::Retried { number, retry, failure: None });
    }
    if let Some(&Lease { instance, to, incarnation, .. }) = lease {
        write(&JournalRecord::Given { number, instance, to, incarnation, at_ms });
    }
    if task.state == TaskState::Running {
        write(&JournalRecord::Started { number, instance, at_ms });
    }
    if task.is_cancel_requested {
        write(&JournalRecord::CancelWished { number, at_ms });
    }
    write_history(number, task, write);
}

/// Writes the record of an array twice, with another record between, so that one damaged spot does not lose it. The
/// record between is one that others depend on too, such as the surroundings. Reading either of them again changes
/// nothing.
pub(super) fn twice_if_many(
    submitted: &JournalRecord,
    between: &JournalRecord,
    mut write: impl FnMut(&JournalRecord),
) {
    write(submitted);
    if 1 < submitted.n_submitted() {
        write(between);
        write(submitted);
    }
}

/// Writes the notes of a task. This comes behind all other records of the task, which add notes of their own.
fn write_history(number: u64, task: &Task, write: &mut impl FnMut(&JournalRecord)) {
    let (notes, n_dropped) = task.notes();
    if !notes.is_empty() {
        write(&JournalRecord::Story { number, n_dropped, notes: notes.to_vec() });
    }
}

/// Consecutive tasks of one submission.
#[derive(Default)]
pub(super) struct TaskRun {
    pub(super) first: u64,
    pub(super) n_tasks: u64,
    pub(super) at_ms: u64,
    /// Index of the first task and the difference to that of the next, where it is an array.
    pub(super) array: Option<(u64, u64)>,
    pub(super) work: Option<Arc<Work>>,
}

/// Runs of tasks that a submission makes, from the number `first` on: one for each range of its array.
fn runs_of(first: u64, submission: &Submission, at_ms: u64) -> Vec<TaskRun> {
    let run = |first, n_tasks, array| TaskRun { first, n_tasks, at_ms, array, work: None };
    let Some(array) = &submission.array else {
        let n_tasks = submission.n_tasks();
        let array = (!submission.items.is_empty()).then_some((1, 1));
        return vec![run(first, n_tasks, array)];
    };
    let mut next = first;
    let ranges = array.0.iter().map(|range| {
        let (begin, n_tasks) = (next, range.n_tasks());
        next += n_tasks;
        run(begin, n_tasks, Some((range.first, range.step)))
    });
    ranges.collect()
}

impl TaskRun {
    pub(super) fn of(number: u64, task: &Task) -> Self {
        Self {
            first: number,
            n_tasks: 1,
            at_ms: task.submitted_ms,
            array: task.array_index().map(|index| (index, 1)),
            work: Some(task.work.clone()),
        }
    }

    /// Adds the task to the run, if it is the next one of the same submission.
    pub(super) fn takes(&mut self, number: u64, task: &Task) -> bool {
        let same_work = self.work.as_ref().is_some_and(|work| Arc::ptr_eq(work, &task.work));
        let follows = same_work && number.checked_sub(self.first) == Some(self.n_tasks);
        if follows
            && self.n_tasks == 1
            && let (Some((first, step)), Some(index)) = (&mut self.array, task.array_index())
            && *first < index
        {
            // The second task tells the step.
            *step = index - *first;
        }
        let index =
            self.array.map(|(index, step)| index.saturating_add(step.saturating_mul(self.n_tasks)));
        let fits = follows && task.array_index() == index;
        self.n_tasks += u64::from(fits);
        fits
    }

    /// Record that submits the run.
    pub(super) fn record(&self, work: SharedWork, terms: Option<SubmissionTerms>) -> JournalRecord {
        let &Self { first, n_tasks, at_ms, array, .. } = self;
        match terms {
            Some(terms) => {
                let terms = Box::new(terms);
                JournalRecord::SubmittedWith { first, n_tasks, at_ms, work, array, terms }
            }
            None => {
                let array_first = array.map(|(first, _)| first);
                JournalRecord::Submitted { first, n_tasks, at_ms, work, array_first }
            }
        }
    }

    /// Terms of the run, with the texts of its own tasks only.
    fn terms(&self) -> Option<SubmissionTerms> {
        let terms = self.work.as_ref()?.terms.as_ref()?;
        Some(terms.with_items_of(self.first, self.n_tasks))
    }

    /// Writes which of the tasks are held or wait for others, where that is not as they were submitted.
    fn write_changed_flags<'a, T: Iterator<Item = (u64, &'a Task)>>(
        &self,
        tasks: impl Fn() -> T,
        write: &mut impl FnMut(&JournalRecord),
    ) {
        let schedule = self.work.as_ref().and_then(|work| Some(&work.terms.as_ref()?.schedule));
        let open = || tasks().filter(|(_, task)| !task.is_over());
        let is_held = !schedule.is_some_and(|schedule| schedule.is_held);
        for (first, last) in
            spans(open().filter(|(_, task)| task.is_held == is_held).map(|(number, _)| number))
        {
            write(&JournalRecord::Held { first, last, is_held });
        }
        let waited = schedule.is_some_and(|schedule| !schedule.after.is_empty());
        let free = |(_, task): &(u64, &Task)| waited && !task.is_blocked;
        for (first, last) in spans(open().filter(free).map(|(number, _)| number)) {
            write(&JournalRecord::Unblocked { first, last });
        }
    }

    fn flush(&self, book: &Book, write: &mut impl FnMut(&JournalRecord)) {
        let Some(work) = &self.work else { return };
        let Ok(around_idx) = book.shared.number(&work.around) else { return };
        let submitted = self.record(shared(work, around_idx), self.terms());
        let n_tasks = usize::try_from(self.n_tasks).unwrap_or(usize::MAX);
        let tasks = || book.tasks.within(self.first..=u64::MAX).take(n_tasks);
        // There may be as many ended arrays as ended tasks, and surroundings are long.
        let between = if tasks().all(|(_, task)| task.is_over()) {
            JournalRecord::Next(self.first)
        } else {
            JournalRecord::Around { idx: around_idx, around: (*work.around).clone() }
        };
        twice_if_many(&submitted, &between, &mut *write);
        self.write_changed_flags(tasks, write);
        for (number, task) in tasks() {
            write_state(number, task, book.leases.get(&number), write);
        }
    }
}

/// Work as it is written.
pub(super) fn shared(work: &Work, around_idx: u32) -> SharedWork {
    SharedWork {
        title: work.title.as_deref().map(str::to_owned),
        words: work.words().to_owned(),
        around_idx,
    }
}

fn end_of(number: u64, task: &Task) -> Option<EndRecord> {
    Some(EndRecord {
        number,
        instance: task.instance,
        node: task.node()?,
        outcome: task.outcome().cloned().unwrap_or(TaskOutcome::Lost),
        started_ms: task.started_ms(),
        ended_ms: task.ended_ms()?,
        output: task.output().cloned().unwrap_or_default(),
        usage: task.usage().unwrap_or_default(),
    })
}
