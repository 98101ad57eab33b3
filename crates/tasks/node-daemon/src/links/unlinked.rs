//! Nodes to which links are made when they are needed, and the messages that wait for one.
//!
//! # Invariants
//! - What waits for a link is as bounded as the queue of a link, and is dropped when the node is not reached.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Hello, LinkOptions, SendError};
use node_core::interface::NodeId;

/// Nodes that can be reached, and what waits for a link to them.
#[derive(Default)]
pub(super) struct UnlinkedNodes {
    known: HashMap<NodeId, Hello>,
    waiting: HashMap<NodeId, Waiting>,
    /// Those of `waiting` that no thread dials yet.
    next: VecDeque<NodeId>,
    dialed: HashSet<NodeId>,
}

#[derive(Default)]
struct Waiting {
    messages: Vec<Vec<u8>>,
    n_bytes: usize,
}

impl UnlinkedNodes {
    /// Sets the nodes to which links are made when they are needed.
    pub(super) fn know(&mut self, nodes: HashMap<NodeId, Hello>) {
        self.known = nodes;
    }

    /// The node of this number, where it is known.
    pub(super) fn known(&self, node: NodeId) -> Option<&Hello> {
        self.known.get(&node)
    }

    /// Keeps a message, or nothing but the wish for a link, until there is one.
    pub(super) fn hold(
        &mut self,
        to: NodeId,
        message: Option<Vec<u8>>,
        options: &LinkOptions,
    ) -> Result<(), SendError> {
        if !self.known.contains_key(&to) {
            return Err(SendError::NotLinked);
        }
        let is_first = !self.waiting.contains_key(&to);
        let waiting = self.waiting.entry(to).or_default();
        if let Some(message) = message {
            let n_bytes = waiting.n_bytes + message.len();
            // One message always fits, however small the bound.
            let is_long = !waiting.messages.is_empty() && options.queued_bytes_max < n_bytes;
            if is_long || options.n_queued_max <= waiting.messages.len() {
                return Err(SendError::Full);
            }
            waiting.n_bytes = n_bytes;
            waiting.messages.push(message);
        }
        if is_first {
            self.next.push_back(to);
        }
        Ok(())
    }

    /// Removes what waits for a link to a node.
    pub(super) fn take(&mut self, node: NodeId) -> Vec<Vec<u8>> {
        self.waiting.remove(&node).map(|waiting| waiting.messages).unwrap_or_default()
    }

    /// Returns whether messages wait.
    pub(super) fn holds_messages(&self) -> bool {
        self.waiting.values().any(|waiting| !waiting.messages.is_empty())
    }

    /// Begins to dial the next node, if there is one and not too many are dialed.
    pub(super) fn begin(&mut self, n_dialing_max: usize) -> Option<(NodeId, String)> {
        while self.dialed.len() < n_dialing_max {
            let node = self.next.pop_front()?;
            // Another connection may have become the link.
            if !self.waiting.contains_key(&node) || self.dialed.contains(&node) {
                continue;
            }
            let Some(address) = self.known.get(&node).map(|it| it.address.clone()) else {
                self.take(node);
                continue;
            };
            self.dialed.insert(node);
            return Some((node, address));
        }
        None
    }

    /// Notes that a node is not dialed any more.
    pub(super) fn was_dialed(&mut self, node: NodeId) {
        self.dialed.remove(&node);
    }
}
