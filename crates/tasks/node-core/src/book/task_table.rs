//! Tasks of a book by number, with the queue of those that wait here.
//!
//! A task is *uncertain* while records of it may be missing: a lost record may have been a lease, a start, an end or a
//! cancel, and the task may run elsewhere although the book shows it waiting. It keeps its state, and is not run; a
//! later record that places it counts, whatever the book shows.
//!
//! # Invariants
//! - A task that waits, is certain and not delayed is found through the queue.

use super::arrays::ArrayTable;
use super::task::Task;
use balancing_policies::Moment;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use task_api::TaskState;

/// Tasks that have not ended, and ended ones that are kept one by one.
#[derive(Debug, Default)]
pub struct TaskTable {
    tasks: BTreeMap<u64, Task>,
    queue: Queue,
    n_uncertain: u64,
    n_delayed: u64,
    /// Ends of delays with the numbers of their tasks; some may have ended otherwise.
    delays: BTreeSet<(Moment, u64)>,
    arrays: ArrayTable,
    resolved_since_last: ResolvedSinceLast,
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
        self.queue.n_queued
    }

    /// Number of tasks that wait here, including those that must not run yet.
    pub fn n_waiting(&self) -> u64 {
        if self.n_uncertain == 0 {
            return self.n_queued() + self.n_delayed;
        }
        self.tasks.values().filter(|task| task.waits()).count() as u64
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
        let runs = self.tasks.iter().filter(|(_, task)| task.state == TaskState::Running);
        runs.map(|(number, task)| (*number, task.instance))
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

    pub(super) fn from(&self, first: u64) -> impl Iterator<Item = (u64, &Task)> {
        self.tasks.range(first..).map(|(number, task)| (*number, task))
    }

    /// Number of the queued task whose turn it is.
    pub(super) fn next_queued(&mut self) -> Option<u64> {
        let tasks = &self.tasks;
        self.queue.next(|number| tasks.get(&number).is_some_and(Task::is_queued))
    }

    /// Adds tasks with consecutive numbers, behind all others in the queue.
    pub(super) fn submit(&mut self, first: u64, tasks: impl Iterator<Item = Task>) {
        let mut next = first;
        for task in tasks {
            self.tasks.insert(next, task);
            next = next.saturating_add(1);
        }
        self.queue.push_back(first, next - 1);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Task> {
        self.tasks.remove(&number)
    }

    /// Changes a task, and keeps the queue in step with it.
    pub(super) fn change<R>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut Task) -> R,
    ) -> Option<R> {
        let task = self.tasks.get_mut(&number)?;
        let (was_queued, was_delayed) = (task.is_queued(), task.is_delayed);
        let result = change(task);
        if task.is_delayed && !task.waits() {
            task.end_delay();
        }
        self.n_delayed = self.n_delayed + u64::from(task.is_delayed) - u64::from(was_delayed);
        match (was_queued, task.is_queued()) {
            (true, false) => self.queue.left(),
            (false, true) => self.queue.push_front(number),
            _ => {}
        }
        Some(result)
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
                self.queue.left();
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
        let mut ranges = Vec::<(u64, u64)>::new();
        if self.n_uncertain == 0 {
            return ranges;
        }
        let uncertain = self.tasks.iter().filter(|(_, task)| task.is_uncertain);
        for number in uncertain.map(|(number, _)| *number) {
            match ranges.last_mut() {
                Some((_, last)) if number.checked_sub(1) == Some(*last) => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        ranges
    }
}

/// Queue of waiting tasks, as ranges of numbers (an array of a million is one entry), and how many of them really wait.
#[derive(Debug, Default)]
struct Queue {
    spans: VecDeque<(u64, u64)>,
    n_queued: u64,
}

impl Queue {
    /// Appends new tasks behind all others.
    fn push_back(&mut self, first: u64, last: u64) {
        self.n_queued += last - first + 1;
        match self.spans.back_mut() {
            Some((_, end)) if first.checked_sub(1) == Some(*end) => *end = last,
            _ => self.spans.push_back((first, last)),
        }
    }

    /// Puts a task that had left back before all others.
    fn push_front(&mut self, number: u64) {
        self.n_queued += 1;
        match self.spans.front_mut() {
            Some((begin, _)) if begin.checked_sub(1) == Some(number) => *begin = number,
            _ => self.spans.push_front((number, number)),
        }
    }

    /// Counts that one of the tasks no longer waits; its entry is skipped later.
    fn left(&mut self) {
        self.n_queued = self.n_queued.saturating_sub(1);
    }

    /// First number for which `is_queued`; entries before it are dropped, its own stays.
    fn next(&mut self, is_queued: impl Fn(u64) -> bool) -> Option<u64> {
        while let Some((first, last)) = self.spans.front_mut() {
            if is_queued(*first) {
                return Some(*first);
            }
            if *first == *last {
                self.spans.pop_front();
            } else {
                *first += 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::{Book, BookLimits, JournalRecord};
    use balancing_policies::NodeId;

    const ALL: JournalRecord = JournalRecord::Doubted { first: 1, last: u64::MAX };

    fn submit(book: &mut Book, n_tasks: u64) {
        let array = Some(task_api::ArrayRange { first: 1, last: n_tasks });
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

    #[test]
    fn tasks_wait_in_order_and_those_that_came_back_go_first() {
        let mut queue = Queue::default();
        queue.push_back(1, 3);
        queue.push_back(4, 4);
        assert_eq!(queue.next(|_| true), Some(1));
        queue.left();
        assert_eq!(queue.next(|number| 1 < number), Some(2));
        queue.push_front(1);
        assert_eq!((queue.n_queued, queue.spans.len()), (4, 1));
        assert_eq!(queue.next(|number| 3 < number), Some(4));
        assert_eq!(queue.next(|_| false), None);
    }
}
