//! Table of all nodes that a node knows, without threads, clocks or sockets.
//!
//! Each node keeps a record of its own address, cores, speed and participation, with its incarnation and a revision that
//! grows with each change. Of two records the one with the greater pair is newer, so that records can arrive in any
//! order, twice, and through other nodes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use task_api::{Presence, Resources};

use crate::interface::{Measurement, Member, NodeId, node_id};
use crate::peer_message::as_json;

/// Most nodes that are known.
const N_NODES_MAX: usize = 8192;
/// Time for which a node that left is remembered, in ms, so that late records of it do not bring it back.
const LEFT_KEPT_MS: u64 = 600_000;
/// Time for which a silent node is still dialed, in ms.
const SILENT_KEPT_MS: u64 = 86_400_000;

/// Participation of a node, by its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Participation {
    /// Takes part.
    Here,
    /// Takes no tasks any more.
    Stopping,
    /// Has left.
    Left,
}

/// Record of a node, by its own account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Name of the node.
    pub name: String,
    /// Address at which it is dialed: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
    /// Grows with each change of this record.
    pub revision: u64,
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Speed relative to an ordinary core, which has 1.
    pub speed: f64,
    /// Participation of the node.
    pub standing: Participation,
    /// All that tasks may use on it.
    #[serde(with = "as_json")]
    pub capacity: Resources,
}

/// Records of all nodes that a node knows.
#[derive(Debug)]
pub struct MembershipTable {
    me: NodeRecord,
    others: BTreeMap<NodeId, Seen>,
    /// Nodes of which a later daemon elsewhere was reported, while nothing speaks against the one that is known.
    doubted: BTreeSet<NodeId>,
}

#[derive(Debug)]
struct Seen {
    record: NodeRecord,
    contact: Contact,
    /// Time of the last news of the node, or the last change of its contact, in ms.
    since_ms: u64,
}

/// What this node knows of another one by its own experience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    /// There is a link.
    Linked,
    /// There is no link, and nothing speaks against one: it was let go in good order, or others report of the node.
    Heard,
    /// A link has failed, and no other one was made since.
    Silent,
}

impl NodeRecord {
    /// Number that is made from the name.
    pub fn id(&self) -> NodeId {
        node_id(&self.name)
    }

    fn age(&self) -> (u64, u64) {
        (self.incarnation, self.revision)
    }
}

impl MembershipTable {
    /// A table with no other node.
    pub fn new(me: NodeRecord) -> Self {
        Self { me, others: BTreeMap::new(), doubted: BTreeSet::new() }
    }

    /// This node's own record.
    pub fn me(&self) -> &NodeRecord {
        &self.me
    }

    /// Changes this node's own record; returns whether it has really changed.
    pub fn set_own(&mut self, standing: Participation, measurement: Measurement) -> bool {
        let Measurement { n_cores, speed } = measurement;
        let mut new = NodeRecord { standing, n_cores, speed, ..self.me.clone() };
        new.capacity.cpus = n_cores;
        let is_news = new != self.me;
        self.me = new;
        self.me.revision += u64::from(is_news);
        is_news
    }

    /// Notes a link to a node. Until the node's record arrives, it counts as one ordinary core.
    pub fn linked(&mut self, name: &str, address: &str, incarnation: u64, now_ms: u64) {
        let record = NodeRecord {
            name: name.to_owned(),
            address: address.to_owned(),
            incarnation,
            revision: 0,
            n_cores: 1,
            speed: 1.0,
            standing: Participation::Here,
            capacity: Resources::default(),
        };
        if let Some(seen) = self.others.get_mut(&record.id())
            && seen.record.address != address
        {
            // The link proves that the name is this one's now.
            seen.contact = Contact::Silent;
        }
        self.merge(record, now_ms);
        if let Some(seen) = self.others.get_mut(&node_id(name)) {
            seen.set(Contact::Linked, now_ms);
        }
    }

    /// Notes that the link to a node was let go, since nothing has used it.
    pub fn rested(&mut self, node: NodeId, now_ms: u64) {
        if let Some(seen) = self.others.get_mut(&node) {
            seen.set(Contact::Heard, now_ms);
        }
    }

    /// Notes that a node cannot be reached; returns whether that is news.
    pub fn silent(&mut self, node: NodeId, now_ms: u64) -> bool {
        let Some(seen) = self.others.get_mut(&node) else { return false };
        let is_news = seen.contact != Contact::Silent && !seen.has_left();
        seen.set(Contact::Silent, now_ms);
        is_news
    }

    /// Merges records from another node; returns those that were news, to be sent to all others.
    pub fn merge_all(&mut self, records: Vec<NodeRecord>, now_ms: u64) -> Vec<NodeRecord> {
        let news = records.into_iter().filter_map(|record| {
            let told = record.clone();
            self.merge(record, now_ms).then_some(told)
        });
        let mut news: Vec<NodeRecord> = news.collect();
        if news.iter().any(|record| record.id() == self.me.id()) {
            // Another node has a newer record of an earlier daemon with this name: this node's record now
            // supersedes it.
            news.retain(|record| record.id() != self.me.id());
            news.push(self.me.clone());
        }
        news
    }

    fn merge(&mut self, record: NodeRecord, now_ms: u64) -> bool {
        if record.id() == self.me.id() {
            return self.merge_own(&record);
        }
        let is_full = N_NODES_MAX <= self.others.len();
        match self.others.get_mut(&record.id()) {
            // The first of two of one name keeps it as long as it can be reached.
            Some(seen) if seen.is_here() && seen.record.address != record.address => {
                if seen.record.incarnation < record.incarnation {
                    self.doubted.insert(record.id());
                }
                false
            }
            Some(seen) if seen.record.age() < record.age() => {
                seen.record = record;
                seen.since_ms = now_ms;
                // Somebody has heard of it since it was lost here.
                if seen.contact == Contact::Silent {
                    seen.contact = Contact::Heard;
                }
                true
            }
            Some(_) => false,
            // A node that left before it was known does not matter.
            None if record.standing == Participation::Left => false,
            None if is_full => false,
            None => {
                self.others.insert(
                    record.id(),
                    Seen { record, contact: Contact::Heard, since_ms: now_ms },
                );
                true
            }
        }
    }

    /// Handles a record with this node's name. One with this address that is newer than any this daemon wrote is from
    /// an earlier daemon, and the clock has gone back since. One with another address is refused by links, and
    /// ignored here.
    fn merge_own(&mut self, record: &NodeRecord) -> bool {
        let outbid = record.address == self.me.address
            && (self.me.age() < record.age()
                || (self.me.age() == record.age() && *record != self.me));
        if outbid {
            self.me.incarnation = record.incarnation;
            self.me.revision = record.revision + 1;
        }
        outbid
    }

    /// Records that other nodes are told: those of all nodes that are not silent, and of nodes that left.
    pub fn records(&self) -> Vec<NodeRecord> {
        let others = self.others.values().filter(|it| it.is_here() || it.has_left());
        std::iter::once(&self.me).chain(others.map(|seen| &seen.record)).cloned().collect()
    }

    /// Number that differs, but for rare cases, between nodes that know different nodes, or another age of one.
    pub fn digest(&self) -> u32 {
        let mut all: BTreeMap<NodeId, (u64, u64)> =
            self.here().map(|(id, seen)| (id, seen.record.age())).collect();
        all.insert(self.me.id(), self.me.age());
        crc32fast::hash(&postcard::to_stdvec(&all).unwrap_or_default())
    }

    /// Nodes that are silent, each with the incarnation that cannot be reached.
    pub fn silent_nodes(&self) -> Vec<(NodeId, u64)> {
        let silent = self.others.iter().filter(|(_, it)| !it.is_here() && !it.has_left());
        silent.map(|(id, seen)| (*id, seen.record.incarnation)).collect()
    }

    /// Returns whether another node's report that this incarnation is silent is worth a try: here it is not, and there
    /// is no link.
    pub fn is_in_doubt(&self, node: NodeId, incarnation: u64) -> bool {
        self.others.get(&node).is_some_and(|seen| {
            seen.contact == Contact::Heard && seen.record.incarnation <= incarnation
        })
    }

    /// Removes the nodes of which a later daemon at another address was reported: they are worth a try.
    pub fn take_doubted(&mut self) -> BTreeSet<NodeId> {
        std::mem::take(&mut self.doubted)
    }

    /// Nodes to which a link can be made when one is needed.
    pub fn reachable(&self) -> impl Iterator<Item = (NodeId, &NodeRecord)> {
        self.here().map(|(id, seen)| (id, &seen.record))
    }

    /// Addresses of silent nodes: they are dialed until there is a link.
    pub fn silent_addresses(&self) -> impl Iterator<Item = &str> {
        let silent = self.others.values().filter(|seen| !seen.is_here() && !seen.has_left());
        silent.map(|seen| seen.record.address.as_str())
    }

    /// Incarnation of a node, as far as it is known.
    pub fn incarnation(&self, node: NodeId) -> Option<u64> {
        self.others.get(&node).map(|seen| seen.record.incarnation)
    }

    /// Returns whether a node is known that takes part, and is not silent.
    pub fn is_here(&self, node: NodeId) -> bool {
        self.others.get(&node).is_some_and(Seen::is_here)
    }

    /// Addresses of nodes that take part, and are not silent.
    pub fn here_addresses(&self) -> HashSet<&str> {
        self.here().map(|(_, seen)| seen.record.address.as_str()).collect()
    }

    fn here(&self) -> impl Iterator<Item = (NodeId, &Seen)> {
        self.others.iter().filter(|(_, seen)| seen.is_here()).map(|(id, seen)| (*id, seen))
    }

    /// Returns whether a node has reported that it left, and was not linked since.
    pub fn has_left(&self, node: NodeId) -> bool {
        self.others.get(&node).is_some_and(|seen| seen.record.standing == Participation::Left)
    }

    /// Returns whether the node at this address has reported that it left.
    pub fn has_left_from(&self, address: &str) -> bool {
        let mut there = self.others.values().filter(|seen| seen.record.address == address);
        there.any(|seen| seen.record.standing == Participation::Left)
    }

    /// Forgets nodes that left or fell silent long ago; returns whether there was one.
    pub fn forget(&mut self, now_ms: u64) -> bool {
        let n_before = self.others.len();
        self.others.retain(|_, seen| {
            let kept_ms = if seen.has_left() { LEFT_KEPT_MS } else { SILENT_KEPT_MS };
            let stays = seen.is_here() || seen.contact == Contact::Linked;
            stays || now_ms.saturating_sub(seen.since_ms) < kept_ms
        });
        self.others.len() < n_before
    }

    /// All other nodes as the core knows them, sorted by number.
    pub fn members(&self) -> Vec<Member> {
        self.others.iter().map(|(id, seen)| seen.member(*id)).collect()
    }
}

impl Seen {
    fn set(&mut self, contact: Contact, now_ms: u64) {
        self.contact = contact;
        self.since_ms = now_ms;
    }

    fn has_left(&self) -> bool {
        self.record.standing == Participation::Left
    }

    /// Returns whether the node takes part, and nothing speaks against its being reachable.
    fn is_here(&self) -> bool {
        self.contact != Contact::Silent && !self.has_left()
    }

    fn member(&self, id: NodeId) -> Member {
        let presence = match (self.record.standing, self.contact) {
            (Participation::Left, _) => Presence::Left,
            (_, Contact::Silent) => Presence::Silent,
            (Participation::Stopping, _) => Presence::Stopping,
            (Participation::Here, _) => Presence::Up,
        };
        Member {
            id,
            name: self.record.name.clone(),
            address: self.record.address.clone(),
            incarnation: self.record.incarnation,
            presence,
            n_cores: self.record.n_cores,
            speed: self.record.speed,
            capacity: self.record.capacity.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
