//! Starts that were ordered before their turn: each waits until one of the tasks that run has ended.

use std::collections::VecDeque;

use super::words::Start;
use crate::core::words::{Attempt, Moment};

/// Whoever waits longer is behind tasks that are not short, and goes back: another node may have a core.
const WAIT_NS: u64 = 50_000_000;

/// Starts in the order in which they came, and until when each waits.
#[derive(Debug, Default)]
pub(super) struct Ahead(VecDeque<(Box<Start>, Moment)>);

impl Ahead {
    pub(super) fn push(&mut self, start: Box<Start>, now: Moment) {
        self.0.push_back((start, Moment(now.0.saturating_add(WAIT_NS))));
    }

    /// The next, where so few run that it may.
    pub(super) fn pop(&mut self, n_running: usize) -> Option<Box<Start>> {
        self.pop_if(|start, _| !start.has_to_wait(n_running))
    }

    /// The next that has waited too long.
    pub(super) fn pop_late(&mut self, now: Moment) -> Option<Box<Start>> {
        self.pop_if(|_, until| until <= now)
    }

    fn pop_if(&mut self, condition: impl Fn(&Start, Moment) -> bool) -> Option<Box<Start>> {
        let (start, until) = self.0.front()?;
        let is_due = condition(start, *until);
        is_due.then(|| self.0.pop_front()).flatten().map(|(start, _)| start)
    }

    /// Takes this one out; whether it was there.
    pub(super) fn remove(&mut self, attempt: &Attempt) -> bool {
        let at = self.0.iter().position(|(start, _)| start.attempt == *attempt);
        at.and_then(|at| self.0.remove(at)).is_some()
    }

    /// When something has to be done about one that waits.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.0.front().map(|(_, until)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
