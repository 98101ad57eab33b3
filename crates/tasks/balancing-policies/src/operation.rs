//! Balancing operation of a node with too many tasks: the nodes that it asked, and their answers.
//!
//! # Invariants
//! - Each node's answer counts once; an operation ends at its time limit, even without all answers.

use crate::{Moment, NodeId};

/// Time within which nodes have to answer, in ms: more than twice the slowest way through a network.
pub(crate) const OPERATION_MS: u64 = 1_000;

#[derive(Clone, Debug)]
pub(crate) struct PolicyOperation {
    pub(crate) number: u32,
    pub(crate) began: Moment,
    pub(crate) phase: Phase,
    pub(crate) n_asked: u32,
    pub(crate) n_open: u32,
    pub(crate) n_rejected: u32,
    accepted: Vec<Accepted>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nodes are asked for their states.
    States,
    /// Nodes are asked to take tasks.
    Requests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) node: NodeId,
    pub(crate) n_tasks_max: u32,
    pub(crate) load_permille: u32,
}

impl PolicyOperation {
    pub(crate) fn new(number: u32, began: Moment, phase: Phase, n_asked: u32) -> Self {
        let (n_open, n_rejected, accepted) = (n_asked, 0, Vec::new());
        Self { number, began, phase, n_asked, n_open, n_rejected, accepted }
    }

    pub(crate) fn awaits(&self, number: u32, phase: Phase) -> bool {
        self.number == number && self.phase == phase
    }

    /// Handles an acceptance; a doubled one changes nothing.
    pub(crate) fn accept(&mut self, accepted: Accepted) {
        if self.accepted.iter().all(|other| other.node != accepted.node) {
            self.accepted.push(accepted);
            self.n_open = self.n_open.saturating_sub(1);
        }
    }

    pub(crate) fn reject(&mut self) {
        self.n_rejected += 1;
        self.n_open = self.n_open.saturating_sub(1);
    }

    /// Nodes that take tasks, the least loaded first.
    pub(crate) fn into_accepted(mut self) -> Vec<Accepted> {
        self.accepted.sort_by_key(|accepted| accepted.load_permille);
        self.accepted
    }
}
