//! Tasks of which records may be missing.
//!
//! A record that is lost may have been a lease, a start, an end or a cancel: the task may run elsewhere although the
//! book has it waiting. A task that is doubted stays what the book has, and does not run; a later record that says
//! where it is counts, whatever the book has.

use balanced::TaskState;

use super::{Book, Record};

/// What was found damaged of the journals that the book was in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damages {
    /// When that was noticed last, in milliseconds since 1970.
    pub at_ms: u64,
    /// Bytes that made no sense, in all.
    pub n_bytes: u64,
    /// Records that were missing, in all, as far as their number is known.
    pub n_missing: u64,
    /// How often that was noticed.
    pub n_times: u64,
}

impl Damages {
    pub(super) fn add(&mut self, at_ms: u64, n_bytes: u64, n_missing: u64) {
        self.at_ms = self.at_ms.max(at_ms);
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        self.n_missing = self.n_missing.saturating_add(n_missing);
        self.n_times += 1;
    }

    /// The record that says all of it.
    pub(super) fn record(self) -> Option<Record> {
        let Self { at_ms, n_bytes, n_missing, n_times } = self;
        (0 < n_times).then_some(Record::Damaged { at_ms, n_bytes, n_missing })
    }
}

impl Book {
    /// Tasks that are doubted.
    #[must_use]
    pub fn n_doubted(&self) -> u64 {
        self.n_doubted
    }

    /// What was found damaged.
    #[must_use]
    pub fn damages(&self) -> Damages {
        self.damages
    }

    /// Tasks that wait here, also those that must not run yet.
    #[must_use]
    pub fn n_waiting(&self) -> u64 {
        if self.n_doubted == 0 {
            return self.n_queued();
        }
        self.tasks.values().filter(|task| task.waits()).count() as u64
    }

    pub(super) fn doubt(&mut self, first: u64, last: u64) {
        if last < first {
            return;
        }
        for task in self.tasks.range_mut(first..=last).map(|(_, task)| task) {
            if task.is_over() || task.is_doubted() {
                continue;
            }
            if task.is_queued() {
                self.queue.left();
            }
            task.doubt(true);
            self.n_doubted += 1;
        }
    }

    pub(super) fn settle(&mut self, first: u64, last: u64) {
        if last < first || self.n_doubted == 0 {
            return;
        }
        // They wait before all others, so the last goes back first.
        for (&number, task) in self.tasks.range_mut(first..=last).rev() {
            if task.is_doubted() {
                task.doubt(false);
                self.n_doubted -= 1;
                if task.state() == TaskState::Queued {
                    self.queue.push_front(number);
                }
            }
        }
    }

    /// It was said where the task is, or that it is over.
    pub(super) fn is_certain(&mut self, number: u64) {
        if let Some(task) = self.tasks.get_mut(&number).filter(|task| task.is_doubted()) {
            task.doubt(false);
            self.n_doubted -= 1;
        }
    }

    /// Ranges of the tasks that are doubted.
    pub(super) fn doubted(&self) -> Vec<(u64, u64)> {
        let mut ranges = Vec::<(u64, u64)>::new();
        if self.n_doubted == 0 {
            return ranges;
        }
        let doubted = self.tasks.iter().filter(|(_, task)| task.is_doubted());
        for number in doubted.map(|(number, _)| *number) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        ranges
    }
}
