//! Own tasks that wait for others, or for their user.

use task_api::TaskRange;

use super::node::Node;
use super::turn::Turn;
use crate::book::{JournalRecord, Task, spans};

impl Turn<'_> {
    /// Lets new tasks wait for others.
    pub(super) fn block(&mut self, first: u64, n_tasks: u64) {
        let Node { gates, book, .. } = &mut *self.node;
        let Some(terms) = book.task(first).and_then(|task| task.work.terms.clone()) else { return };
        gates.add(book, (first, first + n_tasks - 1, &terms));
    }

    /// Lets tasks run that wait for nothing any more, and cancels those that never can, with what waits for them in turn.
    pub(super) fn open_gates(&mut self) {
        loop {
            let (open, closed) = self.node.gates.take();
            if open.is_empty() && closed.is_empty() {
                return;
            }
            for (first, last) in open {
                self.record(&JournalRecord::Unblocked { first, last });
            }
            let home = self.node.options.name.clone();
            for (first, last) in closed {
                self.cancel(&TaskRange { home: home.clone(), first, last });
            }
        }
    }

    /// Holds tasks that wait; returns how many.
    pub(super) fn hold(&mut self, tasks: &TaskRange) -> u64 {
        self.set_held(tasks, true)
    }

    /// Lets held tasks run; with `anyway`, also those that wait for others. Returns how many.
    pub(super) fn release(&mut self, tasks: &TaskRange, anyway: bool) -> u64 {
        let n_held = self.set_held(tasks, false);
        if !anyway {
            return n_held;
        }
        let blocked = self.spans(tasks, |task| task.is_blocked && task.waits());
        for &(first, last) in &blocked {
            self.node.gates.forget(first, last);
            self.record(&JournalRecord::Unblocked { first, last });
        }
        n_held + blocked.iter().map(|(first, last)| last - first + 1).sum::<u64>()
    }

    fn set_held(&mut self, tasks: &TaskRange, is_held: bool) -> u64 {
        let spans = self.spans(tasks, |task| task.waits() && task.is_held != is_held);
        for &(first, last) in &spans {
            self.record(&JournalRecord::Held { first, last, is_held });
        }
        spans.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Ranges of consecutive numbers of the tasks that are chosen.
    fn spans(&self, tasks: &TaskRange, is_chosen: impl Fn(&Task) -> bool) -> Vec<(u64, u64)> {
        let all = self.node.book.tasks_from(tasks.first);
        let all = all.take_while(|(number, _)| *number <= tasks.last);
        spans(all.filter(|(_, task)| is_chosen(task)).map(|(number, _)| number))
    }
}
