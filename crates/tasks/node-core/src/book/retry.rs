//! Tasks that are tried again after attempts that failed, and wait for that.
//!
//! A task that waits for its next attempt is *delayed*: queued for users, and not run. Its delay is in its record by
//! the time for users; [`TaskTable::begin_delays`] turns that into moments, which no change of the clock moves.

use balancing_policies::{Moment, NodeId};
use task_api::{TaskOutcome, TaskState};

use super::{Failure, NotedEvent, Retry, Task, TaskTable};

impl Retry {
    /// Time left of the delay, in ms. A clock that was set back makes it no longer than the whole.
    fn left_ms(self, now_ms: u64) -> u64 {
        self.delay_ms.saturating_sub(now_ms.saturating_sub(self.at_ms))
    }
}

impl Task {
    /// The retry after an instance of this task that ended with `outcome`; `None` where that ends the task.
    pub fn retry(&self, instance: u32, outcome: &TaskOutcome, at_ms: u64) -> Option<Retry> {
        let failures = self.work.terms.as_ref()?.failures;
        let n_failed = self.failed().n_failed;
        let delay_ms = failures.retry_after_ms(outcome, n_failed)?;
        let retry = Retry { n_failed: n_failed + 1, instance, at_ms, delay_ms };
        (!self.is_cancel_requested).then_some(retry)
    }

    /// Most attempts at the task, unless some are lost.
    pub fn n_attempts_max(&self) -> u64 {
        let terms = self.work.terms.as_ref();
        terms.map_or(1, |terms| u64::from(terms.failures.n_retries_max) + 1)
    }

    /// Returns whether the failure of this instance was noted: the report of it was repeated.
    pub fn has_failed(&self, instance: u32) -> bool {
        instance <= self.failed().instance
    }
}

impl TaskTable {
    /// Notes that an attempt failed and that the task waits for the next one here, on `me`; returns whether that can
    /// be.
    pub(super) fn retried(
        &mut self,
        number: u64,
        retry: Retry,
        failure: Option<&Failure>,
        me: NodeId,
    ) -> bool {
        let fits = |task: &Task| {
            let is_known = task.waits() || task.instance == retry.instance;
            let may_be = task.is_uncertain && task.instance <= retry.instance;
            !task.has_failed(retry.instance) && (is_known || may_be)
        };
        if !self.open(number).is_some_and(fits) {
            return false;
        }
        self.change(number, |task| {
            if let Some(failure) = failure {
                let Retry { n_failed, delay_ms, .. } = retry;
                let failure = Box::new(failure.clone());
                task.note(retry.at_ms, NotedEvent::Failed { n_failed, delay_ms, failure });
            }
            task.place(TaskState::Queued, me, retry.instance);
            task.fail(retry);
        });
        self.resolve(number);
        true
    }

    /// Lets the delay of a task begin, or go on after a restart.
    pub fn begin_delay(&mut self, number: u64, now: Moment, now_ms: u64) {
        if let Some(task) = self.get(number).filter(|task| task.is_delayed) {
            let left_ms = task.failed().left_ms(now_ms);
            self.delay(number, now.plus_ms(left_ms));
        }
    }

    /// Lets all delays go on after a restart.
    pub fn begin_delays(&mut self, now: Moment, now_ms: u64) {
        let delayed = self.within(0..=u64::MAX).filter(|(_, task)| task.is_delayed);
        for number in delayed.map(|(number, _)| number).collect::<Vec<_>>() {
            self.begin_delay(number, now, now_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_goes_on_after_a_restart_and_never_gets_longer() {
        let retry = Retry { n_failed: 1, instance: 1, at_ms: 10_000, delay_ms: 4_000 };
        assert_eq!(retry.left_ms(10_000), 4_000);
        assert_eq!(retry.left_ms(13_000), 1_000);
        assert_eq!(retry.left_ms(99_000), 0);
        assert_eq!(retry.left_ms(5_000), 4_000);
    }
}
