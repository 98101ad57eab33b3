//! What nodes tell each other of all nodes, and to whom.
//!
//! News goes to a few nodes, linked or not, and each that has not heard it passes it on in the same way: it reaches all
//! others within a few steps, however few links there are. What gets lost on the way is found when two nodes compare their
//! tables ([`super::membership_thread`]).

use super::GOSSIP;
use crate::links::Links;
use node_core::interface::NodeId;
use node_core::membership_table::NodeRecord;
use random::Random;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Most records of one message.
const N_RECORDS_AT_ONCE: usize = 1024;
/// Most linked nodes that are told of news, and most others.
const N_LINKED_TOLD_MAX: usize = 16;
const N_OTHERS_TOLD: usize = 3;
/// Time for which news is collected, so that nodes which start together do not tell each other of each of them.
const COLLECTS_FOR: Duration = Duration::from_millis(50);

/// Message between members threads.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Gossip {
    /// True for the first message of a link.
    pub(super) greets: bool,
    /// Digest of the sender's table, where it asks for the receiver's if that differs.
    pub(super) digest: Option<u32>,
    /// Records of nodes.
    pub(super) records: Vec<NodeRecord>,
    /// Nodes that the sender cannot reach, each with the incarnation.
    pub(super) silent: Vec<(NodeId, u64)>,
}

impl Gossip {
    /// Sends this to a node; lost messages are made up for later.
    pub(super) fn send(self, to: NodeId, links: &Links) {
        let mut records = self.records.chunks(N_RECORDS_AT_ONCE);
        let first = records.next().unwrap_or_default().to_vec();
        let rest = records.map(|records| Self { records: records.to_vec(), ..Self::default() });
        let messages = std::iter::once(Self { records: first, ..self }).chain(rest);
        for message in messages.collect::<Vec<_>>() {
            let gossip = postcard::to_stdvec(&message).unwrap_or_default();
            links.send(to, [&[GOSSIP], gossip.as_slice()].concat()).ok();
        }
    }
}

/// News that has not been passed on yet.
#[derive(Debug)]
pub(super) struct UntoldNews {
    records: Vec<NodeRecord>,
    silent: Vec<(NodeId, u64)>,
    due: Option<Instant>,
    random: Random,
}

impl UntoldNews {
    pub(super) fn new(seed: u64) -> Self {
        Self { records: Vec::new(), silent: Vec::new(), due: None, random: Random::new(seed) }
    }

    pub(super) fn add(&mut self, records: impl IntoIterator<Item = NodeRecord>) {
        self.records.extend(records);
        self.note();
    }

    pub(super) fn add_silent(&mut self, node: NodeId, incarnation: u64) {
        self.silent.push((node, incarnation));
        self.note();
    }

    fn note(&mut self) {
        if self.due.is_none() && !(self.records.is_empty() && self.silent.is_empty()) {
            self.due = Some(Instant::now() + COLLECTS_FOR);
        }
    }

    /// Time until news is passed on.
    pub(super) fn due_in(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Passes all news on to some nodes of these.
    pub(super) fn spread(&mut self, linked: &BTreeSet<NodeId>, here: &[NodeId], links: &Links) {
        self.due = None;
        let (records, silent) =
            (std::mem::take(&mut self.records), std::mem::take(&mut self.silent));
        if records.is_empty() && silent.is_empty() {
            return;
        }
        let others = here.iter().copied().filter(|node| !linked.contains(node));
        let mut to = self.some(linked.iter().copied().collect(), N_LINKED_TOLD_MAX);
        to.extend(self.some(others.collect(), N_OTHERS_TOLD));
        for node in to {
            let (records, silent) = (records.clone(), silent.clone());
            Gossip { records, silent, ..Gossip::default() }.send(node, links);
        }
    }

    /// Draws some of the nodes.
    fn some(&mut self, mut nodes: Vec<NodeId>, n_max: usize) -> Vec<NodeId> {
        let n = nodes.len().min(n_max);
        for at in 0..n {
            let other = at + self.random.below(nodes.len() - at);
            nodes.swap(at, other);
        }
        nodes.truncate(n);
        nodes
    }
}
