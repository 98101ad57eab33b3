//! What a node knows of all nodes, without threads, clocks or sockets.
//!
//! Each node says of itself where it is, what it can do and whether it stays, with its incarnation and a revision
//! that grows with each change. The greater pair is newer, so records can come in any order, twice, over others.

use std::collections::BTreeMap;

use balanced::Presence;
use serde::{Deserialize, Serialize};

use crate::core::words::{Measurement, Member, NodeId, node_id};

/// Nodes that are known at most.
const N_NODES_MAX: usize = 8192;
/// How long a node that left is remembered, so that late words about it do not bring it back.
const LEFT_KEPT_MS: u64 = 600_000;
/// How long a node that is silent is looked for.
const SILENT_KEPT_MS: u64 = 86_400_000;

/// Whether a node stays, in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It takes part.
    Here,
    /// It takes nothing any more.
    Stopping,
    /// It has left.
    Left,
}

/// A node in its own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// Where it is dialed: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
    /// Grows with each change of this record.
    pub revision: u64,
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Its speed, beside 1 for an ordinary core.
    pub speed: f64,
    /// Whether it stays.
    pub standing: Standing,
}

/// What a node knows of all others.
#[derive(Debug)]
pub struct Roll {
    me: Record,
    others: BTreeMap<NodeId, Seen>,
}

#[derive(Debug)]
struct Seen {
    record: Record,
    linked: bool,
    /// When it was heard of or linked last.
    since_ms: u64,
}

impl Record {
    /// The number that is made from its name.
    pub fn id(&self) -> NodeId {
        node_id(&self.name)
    }

    fn age(&self) -> (u64, u64) {
        (self.incarnation, self.revision)
    }
}

impl Roll {
    /// A roll on which nobody else stands.
    pub fn new(me: Record) -> Self {
        Self { me, others: BTreeMap::new() }
    }

    /// This node's own record.
    pub fn me(&self) -> &Record {
        &self.me
    }

    /// Changes what this node says of itself; true when that is news.
    pub fn say(&mut self, standing: Standing, measurement: Measurement) -> bool {
        let Measurement { n_cores, speed } = measurement;
        let said = Record { standing, n_cores, speed, ..self.me.clone() };
        let is_news = said != self.me;
        self.me = said;
        self.me.revision += u64::from(is_news);
        is_news
    }

    /// There is a link to a node. Until it says more, it counts as one ordinary core.
    pub fn linked(&mut self, name: &str, address: &str, incarnation: u64, now_ms: u64) {
        let record = Record {
            name: name.to_owned(),
            address: address.to_owned(),
            incarnation,
            revision: 0,
            n_cores: 1,
            speed: 1.0,
            standing: Standing::Here,
        };
        self.hear(record, now_ms);
        if let Some(seen) = self.others.get_mut(&node_id(name)) {
            seen.linked = true;
            seen.since_ms = now_ms;
        }
    }

    /// There is no link to a node any more.
    pub fn unlinked(&mut self, name: &str, now_ms: u64) {
        if let Some(seen) = self.others.get_mut(&node_id(name)) {
            seen.linked = false;
            seen.since_ms = now_ms;
        }
    }

    /// Takes what somebody says of nodes. Returns what was news, to be told to all others.
    pub fn hear_all(&mut self, records: Vec<Record>, now_ms: u64) -> Vec<Record> {
        let news = records.into_iter().filter_map(|record| {
            let told = record.clone();
            self.hear(record, now_ms).then_some(told)
        });
        let mut news: Vec<Record> = news.collect();
        if news.iter().any(|record| record.id() == self.me.id()) {
            // Somebody remembers an earlier daemon of this name as a later one: it is outbid.
            news.retain(|record| record.id() != self.me.id());
            news.push(self.me.clone());
        }
        news
    }

    fn hear(&mut self, record: Record, now_ms: u64) -> bool {
        if record.id() == self.me.id() {
            return self.hear_of_me(&record);
        }
        let is_full = N_NODES_MAX <= self.others.len();
        match self.others.get_mut(&record.id()) {
            Some(seen) if seen.record.age() < record.age() => {
                seen.record = record;
                seen.since_ms = now_ms;
                true
            }
            Some(_) => false,
            // Those who left before they were known are nobody's concern.
            None if record.standing == Standing::Left => false,
            None if is_full => false,
            None => {
                self.others.insert(record.id(), Seen { record, linked: false, since_ms: now_ms });
                true
            }
        }
    }

    /// A record of this very place that is newer than any this daemon wrote was written by one before it, by a
    /// clock that went back since. One of another place is refused by links, and not believed here.
    fn hear_of_me(&mut self, record: &Record) -> bool {
        let outbid = record.address == self.me.address
            && (self.me.age() < record.age()
                || (self.me.age() == record.age() && *record != self.me));
        if outbid {
            self.me.incarnation = record.incarnation;
            self.me.revision = record.revision + 1;
        }
        outbid
    }

    /// What is told to a node that has just been linked: those that can be vouched for, and those that left.
    pub fn vouched(&self) -> Vec<Record> {
        let others =
            self.others.values().filter(|it| it.linked || it.record.standing == Standing::Left);
        std::iter::once(&self.me).chain(others.map(|seen| &seen.record)).cloned().collect()
    }

    /// Nodes that should be linked: those that did not leave.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let here = self.others.values().filter(|seen| seen.record.standing != Standing::Left);
        here.map(|seen| seen.record.address.as_str())
    }

    /// Whether a node said that it left, and was not linked since.
    pub fn has_left(&self, node: NodeId) -> bool {
        self.others.get(&node).is_some_and(|seen| seen.record.standing == Standing::Left)
    }

    /// Whether the node that was dialed there said so.
    pub fn has_left_from(&self, address: &str) -> bool {
        let mut there = self.others.values().filter(|seen| seen.record.address == address);
        there.any(|seen| seen.record.standing == Standing::Left)
    }

    /// Forgets who left or fell silent long ago; true when there was one.
    pub fn forget(&mut self, now_ms: u64) -> bool {
        let n_before = self.others.len();
        self.others.retain(|_, seen| {
            let kept_ms = match seen.record.standing {
                Standing::Left => LEFT_KEPT_MS,
                Standing::Here | Standing::Stopping => SILENT_KEPT_MS,
            };
            seen.linked || now_ms.saturating_sub(seen.since_ms) < kept_ms
        });
        self.others.len() < n_before
    }

    /// All others as the core knows them, sorted by number.
    pub fn members(&self) -> Vec<Member> {
        self.others.iter().map(|(id, seen)| seen.member(*id)).collect()
    }
}

impl Seen {
    fn member(&self, id: NodeId) -> Member {
        let presence = match (self.record.standing, self.linked) {
            (Standing::Left, _) => Presence::Left,
            (_, false) => Presence::Silent,
            (Standing::Stopping, true) => Presence::Stopping,
            (Standing::Here, true) => Presence::Up,
        };
        Member {
            id,
            name: self.record.name.clone(),
            address: self.record.address.clone(),
            incarnation: self.record.incarnation,
            presence,
            n_cores: self.record.n_cores,
            speed: self.record.speed,
        }
    }
}

#[cfg(test)]
mod tests;
