//! Starts that were ordered ahead: each waits until one of the running tasks has ended.

use std::collections::VecDeque;

use super::protocol::StartAttempt;
use node_core::interface::{Attempt, Moment};

/// Longest wait: a start that waits longer is behind tasks that are not short, and is given back, since another
/// node may have a free core.
const WAIT_NS: u64 = 50_000_000;

/// Starts in order of arrival, each with the end of its wait.
#[derive(Debug, Default)]
pub(super) struct PendingStarts(VecDeque<(Box<StartAttempt>, Moment)>);

impl PendingStarts {
    pub(super) fn push(&mut self, start: Box<StartAttempt>, now: Moment) {
        self.0.push_back((start, Moment(now.0.saturating_add(WAIT_NS))));
    }

    /// Removes the next start, if few enough tasks run.
    pub(super) fn pop(&mut self, n_running: usize) -> Option<Box<StartAttempt>> {
        self.pop_if(|start, _| !start.has_to_wait(n_running))
    }

    /// Removes the next start that has waited too long.
    pub(super) fn pop_late(&mut self, now: Moment) -> Option<Box<StartAttempt>> {
        self.pop_if(|_, until| until <= now)
    }

    fn pop_if(
        &mut self,
        condition: impl Fn(&StartAttempt, Moment) -> bool,
    ) -> Option<Box<StartAttempt>> {
        let (start, until) = self.0.front()?;
        let is_due = condition(start, *until);
        is_due.then(|| self.0.pop_front()).flatten().map(|(start, _)| start)
    }

    /// Removes a start; returns whether it was there.
    pub(super) fn remove(&mut self, attempt: &Attempt) -> bool {
        let at = self.0.iter().position(|(start, _)| start.attempt == *attempt);
        at.and_then(|at| self.0.remove(at)).is_some()
    }

    /// End of the next wait.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.0.front().map(|(_, until)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
