//! Tasks of a book by number, with the queue of those that wait here.
//!
//! A task is *uncertain* while records of it may be missing: a lost record may have been a lease, a start, an end or a
//! cancel, and the task may run elsewhere although the book shows it waiting. It keeps its state, and is not run; a
//! later record that places it counts, whatever the book shows.
//!
//! # Invariants
//! - A task that waits, is certain, and neither delayed nor held nor blocked by others is found through the queue.

use super::arrays::ArrayTable;
use super::expectations::Expectations;
use super::queue::{Place, Queue, QueuedClass};
use super::spans;
use super::task::Task;
use crate::attempt::Work;
use balancing_policies::Moment;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;
use task_api::{Demand, TaskOutcome, TaskState};

/// Tasks that have not ended, and ended ones that are kept one by one.
#[derive(Debug, Default)]
pub struct TaskTable {
    tasks: BTreeMap<u64, Task>,
    queue: Queue,
    n_uncertain: u64,
    n_waiting: u64,
    /// Tasks of submissions that bound it that are given out now, by the number of the first task.
    n_active: HashMap<u64, u64>,
    /// Ends of delays with the numbers of their tasks; some may have ended otherwise.
    delays: BTreeSet<(Moment, u64)>,
    arrays: ArrayTable,
    resolved_since_last: ResolvedSinceLast,
    /// Numbers of the tasks that are given out.
    active: BTreeSet<u64>,
    /// Numbers of the tasks that have failed for good.
    failed: BTreeSet<u64>,
    expectations: Expectations,
}

/// Tasks that may be certain again since all became uncertain. The next such event looks only at these:
/// otherwise a journal with many holes would cost a pass over all tasks for each of them.
#[derive(Debug, Default)]
struct ResolvedSinceLast {
    /// First number of the tasks that were submitted since.
    from: u64,
    /// Some of the tasks before that number.
    numbers: Vec<u64>,
}

impl TaskTable {
    /// Number of tasks that wait here, and may be run.
    pub fn n_queued(&self) -> u64 {
        self.queue.n_queued()
    }

    /// Classes of the tasks that wait here and may be run, those of high priority first.
    pub fn classes(&self) -> impl Iterator<Item = QueuedClass<'_>> {
        self.queue.classes()
    }

    /// Number of tasks of a submission that are given out now; 0 where the submission does not bound it.
    pub fn n_active(&self, first: u64) -> u64 {
        self.n_active.get(&first).copied().unwrap_or(0)
    }

    /// Longest time that a task is expected to run, in ms, where something is known.
    pub fn lasts_ms(&self, work: &Work) -> Option<u64> {
        self.expectations.longest_ms(work)
    }

    /// Number of tasks that wait here, including those that must not run yet.
    pub fn n_waiting(&self) -> u64 {
        self.n_waiting
    }

    /// Number of uncertain tasks.
    pub fn n_uncertain(&self) -> u64 {
        self.n_uncertain
    }

    /// Arrays that bound the number of their tasks that may fail.
    pub fn arrays(&self) -> &ArrayTable {
        &self.arrays
    }

    /// The same, to take those that have come beyond their bound.
    pub fn arrays_mut(&mut self) -> &mut ArrayTable {
        &mut self.arrays
    }

    /// Tasks that were started here and have not ended, with their instances.
    pub fn running(&self) -> impl Iterator<Item = (u64, u32)> {
        let runs = self.active(0..=u64::MAX).filter(|(_, task)| task.state == TaskState::Running);
        runs.map(|(number, task)| (number, task.instance))
    }

    pub(super) fn len(&self) -> u64 {
        self.tasks.len() as u64
    }

    pub(super) fn get(&self, number: u64) -> Option<&Task> {
        self.tasks.get(&number)
    }

    /// A task that has not ended.
    pub(super) fn open(&self, number: u64) -> Option<&Task> {
        self.get(number).filter(|task| !task.is_over())
    }

    /// Tasks with these numbers.
    pub fn within(
        &self,
        range: RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Task)> {
        let range = if range.is_empty() { 0..=0 } else { range };
        self.tasks.range(range).map(|(number, task)| (*number, task))
    }

    /// Of the tasks with these numbers, those that are offered to other nodes, held by them, or run here.
    pub fn active(
        &self,
        range: RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Task)> {
        among(&self.tasks, &self.active, range)
    }

    /// Of the tasks with these numbers, those that failed for good.
    pub fn failed(
        &self,
        range: RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Task)> {
        among(&self.tasks, &self.failed, range)
    }

    /// Number of the queued task whose turn it is, of those that ask for what `fits`.
    pub(super) fn next_queued(&mut self, fits: &impl Fn(Option<&Demand>) -> bool) -> Option<u64> {
        let (tasks, n_active) = (&self.tasks, &self.n_active);
        let is_queued = |number: u64| tasks.get(&number).is_some_and(Task::is_queued);
        self.queue.next(&is_queued, fits, &|first| is_full(tasks, n_active, first))
    }

    /// Adds tasks with consecutive numbers, behind all others in the queue.
    pub(super) fn submit(&mut self, first: u64, tasks: impl Iterator<Item = Task>) {
        let mut next = first;
        let mut place = None;
        let mut queued_since = None;
        for task in tasks {
            let expect_ms = self.expectations.in_queue(&task.work);
            let place = place.get_or_insert_with(|| Place::of(&task.work, expect_ms));
            match (task.is_queued(), queued_since) {
                (true, None) => queued_since = Some(next),
                (false, Some(first)) => {
                    self.queue.push_back(place, first, next - 1);
                    queued_since = None;
                }
                _ => {}
            }
            self.tasks.insert(next, task);
            next = next.saturating_add(1);
        }
        self.n_waiting += next - first;
        if let (Some(place), Some(first)) = (place, queued_since) {
            self.queue.push_back(&place, first, next - 1);
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Task> {
        self.active.remove(&number);
        self.failed.remove(&number);
        let task = self.tasks.remove(&number)?;
        if let Some(terms) = &task.work.terms
            && self.tasks.range(terms.first..=terms.last.max(terms.first)).next().is_none()
        {
            self.expectations.forget(terms.first);
        }
        Some(task)
    }

    /// Changes a task, and keeps the queue in step with it.
    pub(super) fn change<R>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut Task) -> R,
    ) -> Option<R> {
        let task = self.tasks.get_mut(&number)?;
        let (was_queued, was_waiting, was_active) =
            (task.is_queued(), task.waits(), task.is_active());
        let result = change(task);
        let expectations = &self.expectations;
        let place = |work: &Work| Place::of(work, expectations.in_queue(work));
        if task.is_delayed && !task.waits() {
            task.end_delay();
        }
        let (waits, is_active) = (task.waits(), task.is_active());
        match (was_active, is_active) {
            (false, true) => drop(self.active.insert(number)),
            (true, false) => drop(self.active.remove(&number)),
            _ => {}
        }
        if task.outcome().is_some_and(TaskOutcome::is_failure) {
            self.failed.insert(number);
        }
        self.n_waiting = self.n_waiting + u64::from(waits) - u64::from(was_waiting);
        if was_active != is_active
            && let Some(terms) = &task.work.terms
            && terms.schedule.n_at_once_max.is_some()
        {
            let n_active = self.n_active.entry(terms.first).or_default();
            *n_active = n_active.saturating_add(u64::from(is_active)) - u64::from(was_active);
            if *n_active == 0 {
                self.n_active.remove(&terms.first);
            }
        }
        match (was_queued, task.is_queued()) {
            (true, false) => self.queue.left(&place(&task.work), is_active),
            (false, true) => self.queue.push_front(&place(&task.work), number, was_active),
            _ => {}
        }
        if was_active && task.is_over() {
            let work = Arc::clone(&task.work);
            let ran_ms = task.ran_ms();
            learn((&mut self.expectations, &mut self.queue), &work, ran_ms);
        }
        Some(result)
    }

    /// Changes the tasks of a range that have not ended, and keeps the queue in step with them.
    pub(super) fn change_range(&mut self, first: u64, last: u64, change: impl Fn(&mut Task)) {
        if last < first {
            return;
        }
        let open = self.tasks.range(first..=last).filter(|(_, task)| !task.is_over());
        // Those that may run now go to the front of their line, so the last one goes first.
        for number in open.map(|(number, _)| *number).rev().collect::<Vec<_>>() {
            self.change(number, &change);
        }
    }

    /// Sets the end of a task's delay.
    pub(super) fn delay(&mut self, number: u64, until: Moment) {
        self.change(number, |task| task.delay(until));
        self.delays.insert((until, number));
    }

    /// Puts tasks into the queue whose delay is over.
    pub fn end_delays(&mut self, now: Moment) {
        while let Some(&(until, number)) = self.delays.first()
            && until <= now
        {
            self.delays.pop_first();
            if self.get(number).and_then(Task::delayed_until) == Some(until) {
                self.change(number, Task::end_delay);
            }
        }
    }

    /// Ends the uncertainty of a task.
    pub(super) fn resolve(&mut self, number: u64) {
        if self.get(number).is_some_and(|task| task.is_uncertain) {
            self.change(number, |task| task.is_uncertain = false);
            self.n_uncertain -= 1;
            self.resolved_since_last.numbers.push(number);
        }
    }

    /// Makes the open tasks of a range uncertain; `next` is the number of the next task.
    pub(super) fn mark_uncertain(&mut self, first: u64, last: u64, next: u64) {
        if 1 < first || last < u64::MAX {
            return self.mark_range_uncertain(first, last);
        }
        let since = ResolvedSinceLast { from: next, numbers: Vec::new() };
        let before = std::mem::replace(&mut self.resolved_since_last, since);
        before.numbers.into_iter().for_each(|number| self.mark_range_uncertain(number, number));
        self.mark_range_uncertain(before.from, u64::MAX);
    }

    fn mark_range_uncertain(&mut self, first: u64, last: u64) {
        if last < first {
            return;
        }
        for task in self.tasks.range_mut(first..=last).map(|(_, task)| task) {
            if task.is_over() || task.is_uncertain {
                continue;
            }
            if task.is_queued() {
                let expect_ms = self.expectations.in_queue(&task.work);
                self.queue.left(&Place::of(&task.work, expect_ms), false);
            }
            task.is_uncertain = true;
            self.n_uncertain += 1;
        }
    }

    /// Ends the uncertainty of all tasks of a range.
    pub(super) fn settle(&mut self, first: u64, last: u64) {
        if last < first || self.n_uncertain == 0 {
            return;
        }
        if first <= 1 && last == u64::MAX {
            self.resolved_since_last = ResolvedSinceLast::default();
        }
        let tasks = self.tasks.range(first..=last).filter(|(_, task)| task.is_uncertain);
        // The tasks go to the front of the queue, so the last one goes first.
        for number in tasks.rev().map(|(number, _)| *number).collect::<Vec<_>>() {
            self.resolve(number);
        }
    }

    /// Ranges of uncertain tasks.
    pub(super) fn uncertain(&self) -> Vec<(u64, u64)> {
        if self.n_uncertain == 0 {
            return Vec::new();
        }
        let uncertain = self.tasks.iter().filter(|(_, task)| task.is_uncertain);
        spans(uncertain.map(|(number, _)| *number))
    }
}

/// Of the tasks with these numbers, those that are named.
fn among<'a>(
    tasks: &'a BTreeMap<u64, Task>,
    named: &'a BTreeSet<u64>,
    range: RangeInclusive<u64>,
) -> impl DoubleEndedIterator<Item = (u64, &'a Task)> {
    let range = if range.is_empty() { 0..=0 } else { range };
    named.range(range).filter_map(|number| Some((*number, tasks.get(number)?)))
}

/// Learns how long tasks of a work run.
fn learn((expectations, queue): (&mut Expectations, &mut Queue), work: &Work, ran_ms: Option<u64>) {
    if ran_ms.is_some_and(|ran_ms| expectations.ended(work, ran_ms)) {
        let from = Place::of(work, expectations.in_queue(work));
        expectations.tell(work);
        queue.moved(&from, &Place::of(work, expectations.in_queue(work)));
    }
}

/// Returns whether a task waits for nothing but room.
pub fn waits_for_room(table: &TaskTable, number: u64) -> bool {
    let task = table.tasks.get(&number).filter(|task| task.is_queued());
    task.is_some_and(|task| {
        let first = task.work.terms.as_ref().map_or(number, |terms| terms.first);
        !is_full(&table.tasks, &table.n_active, first)
    })
}

/// Returns whether no further task of the submission with this first number may be given out.
fn is_full(tasks: &BTreeMap<u64, Task>, n_active: &HashMap<u64, u64>, first: u64) -> bool {
    let n_active = n_active.get(&first).copied().unwrap_or(0);
    0 < n_active && n_at_once_max(tasks, first).is_some_and(|max| max <= n_active)
}

/// Most tasks of a submission that may be given out at once, if one of the tasks still tells.
fn n_at_once_max(tasks: &BTreeMap<u64, Task>, first: u64) -> Option<u64> {
    let (_, task) = tasks.range(first..).next()?;
    let terms = task.work.terms.as_ref().filter(|terms| terms.first == first)?;
    terms.schedule.n_at_once_max
}

#[cfg(test)]
mod tests {
    use crate::book::{Book, BookLimits, JournalRecord};
    use balancing_policies::NodeId;

    const ALL: JournalRecord = JournalRecord::Doubted { first: 1, last: u64::MAX };

    fn submit(book: &mut Book, n_tasks: u64) {
        let array = Some(task_api::ArrayIndices::range(1, n_tasks));
        let command = vec!["true".to_owned()];
        let submission = task_api::Submission { command, array, ..Default::default() };
        book.records_of(&submission, 1).iter().for_each(|record| book.apply(record));
    }

    /// Fault: each hole of a journal cost a pass over all tasks.
    #[test]
    fn a_hole_costs_what_came_since_the_last_one() {
        let mut book = Book::new(NodeId(1), BookLimits::default());
        submit(&mut book, 100);
        let left = |book: &Book| {
            let since = &book.tasks().resolved_since_last;
            (since.from, since.numbers.clone())
        };
        book.apply(&ALL);
        assert_eq!((book.tasks().n_uncertain(), left(&book)), (100, (101, vec![])));
        for number in [7, 9] {
            book.apply(&JournalRecord::Started { number, instance: 1, at_ms: 1 });
        }
        submit(&mut book, 2);
        assert_eq!((book.tasks().n_uncertain(), left(&book)), (98, (101, vec![7, 9])));
        book.apply(&ALL);
        assert_eq!((book.tasks().n_uncertain(), left(&book)), (102, (103, vec![])));
        book.apply(&JournalRecord::Settled { first: 3, last: 4 });
        assert_eq!((book.tasks().n_uncertain(), left(&book)), (100, (103, vec![4, 3])));
        book.apply(&JournalRecord::Settled { first: 1, last: u64::MAX });
        book.apply(&ALL);
        assert_eq!((book.tasks().n_uncertain(), left(&book)), (102, (103, vec![])));
    }
}
