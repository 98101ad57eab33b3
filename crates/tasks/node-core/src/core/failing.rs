//! Tasks that fail: the home tries them again, or cancels the rest of their array.

use task_api::TaskRange;

use super::turn::Turn;
use crate::book::{EndRecord, Failure, JournalRecord};

impl Turn<'_> {
    /// Handles the end of an attempt at an own task: the task ends, or is tried again.
    pub(super) fn attempt_over(&mut self, end: EndRecord) {
        let EndRecord { number, instance, .. } = end;
        let task = self.node.book.task(number);
        let retry = task.and_then(|task| task.retry(instance, &end.outcome, self.now.unix_ms));
        let Some(retry) = retry else { return self.record(&JournalRecord::of_end(end)) };
        let failure = Failure {
            node: end.node,
            last_line: end.output.last_line().unwrap_or_default().into(),
            outcome: end.outcome,
        };
        self.record(&JournalRecord::Retried { number, retry, failure: Some(failure) });
        let (now, at_ms) = (self.now.moment, self.now.unix_ms);
        self.node.book.tasks_mut().begin_delay(number, now, at_ms);
    }

    /// Cancels what is left of arrays of which more tasks have failed than may.
    pub(super) fn stop_arrays(&mut self) {
        for (first, array) in self.node.book.tasks_mut().arrays_mut().take_beyond() {
            let home = self.node.options.name.clone();
            self.cancel(&TaskRange { home, first, last: array.last });
            // Last, so that a daemon that is killed before cancels them when it is started again.
            let (n_failed, stopped_ms) = (array.n_failed, Some(self.now.unix_ms));
            self.record(&JournalRecord::ArrayFailures { first, n_failed, stopped_ms });
        }
    }
}
