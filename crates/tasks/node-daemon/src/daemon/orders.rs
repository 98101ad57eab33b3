//! Orders for the keeper, until they may be sent.
//!
//! # Invariants
//! - No task of this node starts with a number that might be given out again: its start waits until the journal's
//!   mark, or the journal itself, holds the number. It need not be on disk: the operating system has it.
//! - Orders stay in their order.

use node_core::interface::{KeeperOrder, NodeId};

/// Waiting orders.
#[derive(Debug)]
pub(super) struct Orders {
    me: NodeId,
    /// Numbers below this one are not given out again.
    assigned_below: u64,
    waiting: Vec<KeeperOrder>,
}

impl Orders {
    pub(super) fn new(me: NodeId, assigned_below: u64) -> Self {
        Self { me, assigned_below, waiting: Vec::new() }
    }

    pub(super) fn push(&mut self, order: KeeperOrder) {
        self.waiting.push(order);
    }

    /// Raises the bound below which numbers are not given out again.
    pub(super) fn reserved(&mut self, assigned_below: u64) {
        self.assigned_below = self.assigned_below.max(assigned_below);
    }

    /// Drops all orders, since the keeper has gone.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Removes the orders that need not wait any more.
    pub(super) fn ready(&mut self) -> Vec<KeeperOrder> {
        let n_ready = self.waiting.iter().position(|order| self.must_wait(order));
        let n_ready = n_ready.unwrap_or(self.waiting.len());
        self.waiting.drain(..n_ready).collect()
    }

    fn must_wait(&self, order: &KeeperOrder) -> bool {
        let KeeperOrder::Start(job) = order else { return false };
        let task = job.attempt.task;
        task.home == self.me && self.assigned_below <= task.number
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use node_core::interface::{Attempt, Job, Killed, TaskKey, Work};

    fn attempt(home: u32, number: u64) -> Attempt {
        Attempt { task: TaskKey { home: NodeId(home), number }, instance: 1 }
    }

    fn start(home: u32, number: u64) -> KeeperOrder {
        KeeperOrder::Start(Box::new(Job {
            attempt: attempt(home, number),
            name: format!("alpha.{number}"),
            work: Arc::new(Work::from_words(None, "true".into(), Arc::default())),
            array_index: None,
            lease_until: None,
            n_at_once: None,
        }))
    }

    /// Fault: a task ran before anything recorded that its number was given out. A daemon that was killed at this
    /// moment gave the number out again.
    #[test]
    fn no_task_starts_by_a_number_that_might_be_given_out_again() {
        let mut orders = Orders::new(NodeId(1), 3);
        let kill = KeeperOrder::Kill { attempt: attempt(1, 2), because: Killed::Canceled };
        let all = [start(1, 1), start(1, 2), start(2, 9), start(1, 3), kill, start(1, 4)];
        all.iter().for_each(|order| orders.push(order.clone()));
        assert_eq!(orders.ready(), all[..3]);
        assert_eq!(orders.ready(), []);
        orders.reserved(4);
        assert_eq!(orders.ready(), all[3..5]);
        orders.reserved(2);
        assert_eq!(orders.ready(), []);
        orders.clear();
        orders.reserved(9);
        assert_eq!(orders.ready(), [], "a keeper that is gone is told nothing");
    }
}
