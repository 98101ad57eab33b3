//! Uncertain tasks: tasks of which records may be missing.
//!
//! A lost record may have been a lease, a start, an end or a cancel: the task may run elsewhere although the book
//! shows it waiting. An uncertain task keeps its state in the book, and is not run; a later record that places it
//! counts, whatever the book shows.

use task_api::TaskState;

use super::{Book, JournalRecord};

/// Damage found in the journals of a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamageTotals {
    /// Time of the last discovery, in milliseconds since 1970.
    pub at_ms: u64,
    /// Total number of unreadable bytes.
    pub n_bytes: u64,
    /// Total number of missing records, as far as it is known.
    pub n_missing: u64,
    /// Number of discoveries.
    pub n_times: u64,
}

/// Tasks that may be certain again since all became uncertain. The next such event looks only at these:
/// otherwise a journal with many holes would cost a pass over all tasks for each of them.
#[derive(Debug, Default)]
pub(super) struct ResolvedSinceLast {
    /// First number of the tasks that were submitted since.
    from: u64,
    /// Some of the tasks before that number.
    numbers: Vec<u64>,
}

impl DamageTotals {
    pub(super) fn add(&mut self, at_ms: u64, n_bytes: u64, n_missing: u64) {
        self.at_ms = self.at_ms.max(at_ms);
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        self.n_missing = self.n_missing.saturating_add(n_missing);
        self.n_times += 1;
    }

    /// Record that holds all of it.
    pub(super) fn record(self) -> Option<JournalRecord> {
        let Self { at_ms, n_bytes, n_missing, n_times } = self;
        (0 < n_times).then_some(JournalRecord::Damaged { at_ms, n_bytes, n_missing })
    }
}

impl Book {
    /// Number of uncertain tasks.
    #[must_use]
    pub fn n_uncertain(&self) -> u64 {
        self.n_uncertain
    }

    /// Damage found so far.
    #[must_use]
    pub fn damages(&self) -> DamageTotals {
        self.damages
    }

    /// Number of tasks that wait here, including those that must not run yet.
    #[must_use]
    pub fn n_waiting(&self) -> u64 {
        if self.n_uncertain == 0 {
            return self.n_queued();
        }
        self.tasks.values().filter(|task| task.waits()).count() as u64
    }

    pub(super) fn mark_uncertain(&mut self, first: u64, last: u64) {
        if last < first {
            return;
        }
        if 1 < first || last < u64::MAX {
            return self.mark_range_uncertain(first, last);
        }
        let since = ResolvedSinceLast { from: self.next, numbers: Vec::new() };
        let before = std::mem::replace(&mut self.resolved_since_last, since);
        before.numbers.into_iter().for_each(|number| self.mark_range_uncertain(number, number));
        self.mark_range_uncertain(before.from, u64::MAX);
    }

    fn mark_range_uncertain(&mut self, first: u64, last: u64) {
        for task in self.tasks.range_mut(first..=last).map(|(_, task)| task) {
            if task.is_over() || task.is_uncertain() {
                continue;
            }
            if task.is_queued() {
                self.queue.left();
            }
            task.set_uncertain(true);
            self.n_uncertain += 1;
        }
    }

    pub(super) fn settle(&mut self, first: u64, last: u64) {
        if last < first || self.n_uncertain == 0 {
            return;
        }
        if first <= 1 && last == u64::MAX {
            self.resolved_since_last = ResolvedSinceLast::default();
        }
        // The tasks go to the front of the queue, so the last one goes first.
        for (&number, task) in self.tasks.range_mut(first..=last).rev() {
            if task.is_uncertain() {
                task.set_uncertain(false);
                self.n_uncertain -= 1;
                self.resolved_since_last.numbers.push(number);
                if task.state() == TaskState::Queued {
                    self.queue.push_front(number);
                }
            }
        }
    }

    /// Ends the uncertainty of a task, since a record has placed or ended it.
    pub(super) fn resolve(&mut self, number: u64) {
        if let Some(task) = self.tasks.get_mut(&number).filter(|task| task.is_uncertain()) {
            task.set_uncertain(false);
            self.n_uncertain -= 1;
            self.resolved_since_last.numbers.push(number);
        }
    }

    /// Ranges of uncertain tasks.
    pub(super) fn uncertain(&self) -> Vec<(u64, u64)> {
        let mut ranges = Vec::<(u64, u64)>::new();
        if self.n_uncertain == 0 {
            return ranges;
        }
        let uncertain = self.tasks.iter().filter(|(_, task)| task.is_uncertain());
        for number in uncertain.map(|(number, _)| *number) {
            match ranges.last_mut() {
                Some((_, last)) if number.checked_sub(1) == Some(*last) => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::BookLimits;
    use crate::interface::NodeId;

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
        let left =
            |book: &Book| (book.resolved_since_last.from, book.resolved_since_last.numbers.clone());
        book.apply(&ALL);
        assert_eq!((book.n_uncertain(), left(&book)), (100, (101, vec![])));
        for number in [7, 9] {
            book.apply(&JournalRecord::Started { number, instance: 1, at_ms: 1 });
        }
        submit(&mut book, 2);
        assert_eq!((book.n_uncertain(), left(&book)), (98, (101, vec![7, 9])));
        book.apply(&ALL);
        assert_eq!((book.n_uncertain(), left(&book)), (102, (103, vec![])));
        book.apply(&JournalRecord::Settled { first: 3, last: 4 });
        assert_eq!((book.n_uncertain(), left(&book)), (100, (103, vec![4, 3])));
        book.apply(&JournalRecord::Settled { first: 1, last: u64::MAX });
        book.apply(&ALL);
        assert_eq!((book.n_uncertain(), left(&book)), (102, (103, vec![])));
    }
}
