//! Links that are made because a message waits for one.
//!
//! # Invariants
//! - What waits for a link is as bounded as the queue of a link, and is dropped when the node is not reached.
//! - A node is dialed by one thread at a time, and few nodes at the same time: many messages at once to nodes without
//!   links do not become a storm of handshakes.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::dialing::{Proved, prove, refusal};
use super::link;
use super::table::Common;
use super::{Hello, LinkOptions, Refusal, SendError};
use node_core::interface::NodeId;

/// Most dials to one node while another connection to it is about to become the link. Below, the pause between them.
const N_DIALS_MAX: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// Nodes that can be reached, and what waits for a link to them.
#[derive(Default)]
pub(super) struct Reaching {
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

impl Reaching {
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
    fn begin(&mut self, n_dialing_max: usize) -> Option<(NodeId, String)> {
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
}

/// Starts threads that dial the nodes which are waited for.
pub(super) fn go_on(common: &Arc<Common>) {
    let n_max = common.options.n_dialing_max;
    while let Some((node, address)) = common.with_reaching(|it| it.begin(n_max)) {
        let dial = Dial { common: Arc::clone(common), node, address };
        let builder = thread::Builder::new().name(format!("reaches {}", dial.address));
        if builder.spawn(|| dial.run()).is_err() {
            common.with_reaching(|it| it.dialed.remove(&node));
            common.unreached(node);
        }
    }
}

struct Dial {
    common: Arc<Common>,
    node: NodeId,
    address: String,
}

impl Dial {
    /// Dials, and runs the link until it ends.
    fn run(self) {
        let (common, node) = (&self.common, self.node);
        let proved = self.prove();
        common.with_reaching(|it| it.dialed.remove(&node));
        go_on(common);
        let Some((stream, result)) = proved else { return common.unreached(node) };
        if result.hello.id() != node {
            // The address is another node's by now.
            common.unreached(node);
        }
        if link::run(common, &stream, result, true).is_err() {
            common.unreached(node);
        }
    }

    /// Returns a connection whose peer has proved the key; nothing if there is none, or another one is the link.
    fn prove(&self) -> Option<Proved> {
        for _ in 0..N_DIALS_MAX {
            match prove(&self.common, &self.address) {
                Ok(proved) => return Some(proved),
                // The other connection is about to become the link, or has just ended.
                Err(error) if refusal(&error) == Some(&Refusal::Linked) => thread::sleep(PAUSE),
                Err(_) => return None,
            }
            if self.common.is_linked(self.node) {
                return None;
            }
        }
        None
    }
}
