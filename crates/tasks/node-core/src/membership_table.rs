//! Table of all nodes that a node knows, without threads, clocks or sockets.
//!
//! Each node keeps a record of its own address, cores, speed and participation, with its incarnation and a revision that
//! grows with each change. Of two records the one with the greater pair is newer, so that records can arrive in any
//! order, twice, and through other nodes.

use std::collections::BTreeMap;

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
}

#[derive(Debug)]
struct Seen {
    record: NodeRecord,
    linked: bool,
    /// Time of the last news of the node, or the last change of its link, in ms.
    since_ms: u64,
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
        Self { me, others: BTreeMap::new() }
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
        self.merge(record, now_ms);
        if let Some(seen) = self.others.get_mut(&node_id(name)) {
            seen.linked = true;
            seen.since_ms = now_ms;
        }
    }

    /// Notes that the link to a node has ended.
    pub fn unlinked(&mut self, name: &str, now_ms: u64) {
        if let Some(seen) = self.others.get_mut(&node_id(name)) {
            seen.linked = false;
            seen.since_ms = now_ms;
        }
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
            Some(seen) if seen.record.age() < record.age() => {
                seen.record = record;
                seen.since_ms = now_ms;
                true
            }
            Some(_) => false,
            // A node that left before it was known does not matter.
            None if record.standing == Participation::Left => false,
            None if is_full => false,
            None => {
                self.others.insert(record.id(), Seen { record, linked: false, since_ms: now_ms });
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

    /// Records for a node that has just been linked: those of linked nodes, and of nodes that left.
    pub fn records_for_new_link(&self) -> Vec<NodeRecord> {
        let others = self
            .others
            .values()
            .filter(|it| it.linked || it.record.standing == Participation::Left);
        std::iter::once(&self.me).chain(others.map(|seen| &seen.record)).cloned().collect()
    }

    /// Addresses of nodes that should be linked: those that did not leave.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let here = self.others.values().filter(|seen| seen.record.standing != Participation::Left);
        here.map(|seen| seen.record.address.as_str())
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
            let kept_ms = match seen.record.standing {
                Participation::Left => LEFT_KEPT_MS,
                Participation::Here | Participation::Stopping => SILENT_KEPT_MS,
            };
            seen.linked || now_ms.saturating_sub(seen.since_ms) < kept_ms
        });
        self.others.len() < n_before
    }

    /// All other nodes as the core knows them, sorted by number.
    pub fn members(&self) -> Vec<Member> {
        self.others.iter().map(|(id, seen)| seen.member(*id)).collect()
    }
}

impl Seen {
    fn member(&self, id: NodeId) -> Member {
        let presence = match (self.record.standing, self.linked) {
            (Participation::Left, _) => Presence::Left,
            (_, false) => Presence::Silent,
            (Participation::Stopping, true) => Presence::Stopping,
            (Participation::Here, true) => Presence::Up,
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
