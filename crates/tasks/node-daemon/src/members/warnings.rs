//! Warnings about other nodes that are kept back for a moment: a node that left in good order may be missed before the news
//! of its leaving has arrived, and then nothing is said.

use crate::links::LinkError;
use node_core::interface::NodeId;
use node_core::membership_table::MembershipTable;
use std::time::{Duration, Instant};

/// Time for which a warning is kept back: news of who left takes a few steps to all others.
const KEPT_FOR: Duration = Duration::from_millis(400);
/// Most warnings that are kept back; beyond that the oldest one is told at once.
const N_KEPT_MAX: usize = 256;

/// Warnings that are kept back, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kept: Vec<Warning>,
}

#[derive(Debug)]
struct Warning {
    since: Instant,
    /// The node in question, where it is known.
    node: Option<NodeId>,
    error: LinkError,
}

impl Warnings {
    /// Keeps a warning back.
    pub(super) fn keep(&mut self, node: Option<NodeId>, error: LinkError) {
        self.kept.push(Warning { since: Instant::now(), node, error });
    }

    /// Time until the next one is due.
    pub(super) fn due_in(&self) -> Option<Duration> {
        let oldest = self.kept.first()?;
        Some(KEPT_FOR.saturating_sub(oldest.since.elapsed()))
    }

    /// Takes those that are due, without those about nodes that left in good order.
    pub(super) fn take_due(&mut self, table: &MembershipTable) -> Vec<String> {
        let n_too_many = self.kept.len().saturating_sub(N_KEPT_MAX);
        let n_old = self.kept.iter().take_while(|it| KEPT_FOR <= it.since.elapsed()).count();
        let due = self.kept.drain(..n_old.max(n_too_many));
        due.filter(|it| !it.is_expected(table)).map(|it| it.error.to_string()).collect()
    }
}

impl Warning {
    /// Returns whether a failure is no news, since the node left in good order. An address that the user named is
    /// dialed all the same: the node may be started again, and may know no other node.
    fn is_expected(&self, table: &MembershipTable) -> bool {
        let (LinkError::Unreachable { peer, .. }
        | LinkError::HungUp(peer)
        | LinkError::Ended { peer, .. }) = &self.error
        else {
            return false;
        };
        table.has_left_from(peer) || self.node.is_some_and(|node| table.has_left(node))
    }
}
