//! Room that a node has promised to tasks that are on their way.
//!
//! # Invariants
//! - A promise ends when the tasks come, when it is released, or at its time limit.
//! - At most [`N_PROMISES_MAX`] are open; a node with that many promises nothing more.

use crate::{Moment, NodeId};

const N_PROMISES_MAX: usize = 256;
/// Time after which promised tasks are no longer expected, in ms.
const PROMISE_MS: u64 = 2_000;

/// Open promises of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    open: Vec<Promise>,
}

#[derive(Clone, Copy, Debug)]
struct Promise {
    to: NodeId,
    operation: u32,
    n_tasks: u32,
    until: Moment,
}

impl Promises {
    /// Number of tasks that may still arrive.
    pub(crate) fn n_tasks(&mut self, now: Moment) -> u32 {
        self.open.retain(|promise| now < promise.until);
        self.open.iter().fold(0, |sum, promise| promise.n_tasks.saturating_add(sum))
    }

    pub(crate) fn is_full(&self) -> bool {
        N_PROMISES_MAX <= self.open.len()
    }

    /// Records a promise; a doubled message makes only one.
    pub(crate) fn promise(&mut self, now: Moment, to: NodeId, operation: u32, n_tasks: u32) {
        self.release(to, operation);
        if !self.is_full() {
            let until = now.plus_ms(PROMISE_MS);
            self.open.push(Promise { to, operation, n_tasks, until });
        }
    }

    pub(crate) fn release(&mut self, to: NodeId, operation: u32) {
        self.open.retain(|promise| promise.to != to || promise.operation != operation);
    }

    /// Ends the oldest promise to `to`, since its tasks have arrived; returns whether there was one.
    pub(crate) fn keep(&mut self, to: NodeId) -> bool {
        let oldest = self.open.iter().position(|promise| promise.to == to);
        oldest.map(|at| self.open.remove(at)).is_some()
    }

    /// Moment at which the next promise expires.
    pub(crate) fn next_end(&self) -> Option<Moment> {
        self.open.iter().map(|promise| promise.until).min()
    }

    /// Ends all promises to a node from which no tasks can come any more.
    pub(crate) fn forget(&mut self, node: NodeId) {
        self.open.retain(|promise| promise.to != node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_ends_when_tasks_come_or_its_time_is_over() {
        let (mut promises, now) = (Promises::default(), Moment(0));
        promises.promise(now, NodeId(1), 7, 2);
        promises.promise(now, NodeId(1), 7, 2);
        promises.promise(now, NodeId(2), 7, 3);
        assert_eq!(promises.n_tasks(now), 5);
        assert!(promises.keep(NodeId(1)) && !promises.keep(NodeId(1)));
        assert_eq!(promises.n_tasks(now), 3);
        promises.release(NodeId(2), 6);
        assert_eq!(promises.n_tasks(now.plus_ms(1_999)), 3);
        assert_eq!(promises.next_end(), Some(now.plus_ms(2_000)));
        assert_eq!(promises.n_tasks(now.plus_ms(2_000)), 0);
    }

    #[test]
    fn promises_have_a_bound() {
        let (mut promises, now) = (Promises::default(), Moment(0));
        (0..1000).for_each(|node| promises.promise(now, NodeId(node), 0, 1));
        assert_eq!(promises.n_tasks(now), 256);
        assert!(promises.is_full());
    }
}
