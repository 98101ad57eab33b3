//! State of this node that all its roles share: the book of its tasks, the keeper's processes, and the other nodes.

use super::gates::Gates;
use super::moves::MovesByNode;
use super::processes::{Processes, ShortTaskDetector};
use crate::book::Book;
use crate::interface::{
    Attempt, EndedAttempt, Measurement, Member, NodeCapacity, NodeId, Now, TaskKey, node_id,
};
use balancing_policies::Policy;
use std::collections::{BTreeMap, BTreeSet};
use task_api::{DurationHistogram, NodeCounters, Presence, TaskOutcome};

/// Most shares in one message.
pub(super) const N_SHARES_MAX: usize = 20_000;

/// Options of a core.
#[derive(Clone, Debug)]
pub struct CoreOptions {
    /// Name of the node.
    pub name: String,
    /// Address at which other nodes reach it: `host:port`.
    pub address: String,
    /// Grows with each start of the daemon.
    pub incarnation: u64,
    /// Policy by which tasks move.
    pub policy: Policy,
    /// Seed of the rules' random numbers.
    pub seed: u64,
    /// Time for which a node may run a task after its home last answered, in ms.
    pub lease_ms: u64,
    /// Additional time before a home gives the task to another node, in ms.
    pub slack_ms: u64,
    /// Cores and speed of the node.
    pub measurement: Measurement,
    /// What it has for tasks.
    pub capacity: NodeCapacity,
    /// Time in ms since 1970 at which the node ends, where that is known.
    pub ends_ms: Option<u64>,
}

/// Node with its tasks.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) me: NodeId,
    pub(super) options: CoreOptions,
    pub(super) began: Now,
    /// Tasks of the node, changed by [`super::turn::Turn::record`].
    pub(super) book: Book,
    pub(super) processes: Processes,
    /// What own tasks wait for that may run only after others.
    pub(super) gates: Gates,
    pub(super) peers: Peers,
    pub(super) counts: NodeCounters,
    /// Sentences about damage on the node, for users.
    pub(super) warnings: Vec<String>,
    pub(super) short_tasks: ShortTaskDetector,
    /// Tasks that other nodes took.
    pub(super) moves: MovesByNode,
    /// Durations of attempts that ended here by themselves.
    pub(super) durations: DurationHistogram,
    /// Ranges of own tasks that have ended since they were last taken.
    pub(super) ended: Vec<(u64, u64)>,
}

impl CoreOptions {
    /// Options of a node with this name, one core, and the usual times.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            address: String::new(),
            incarnation: 1,
            policy: Policy::DEFAULT,
            seed: 1,
            lease_ms: 10_000,
            slack_ms: 5_000,
            measurement: Measurement { n_cores: 1, speed: 1.0 },
            capacity: NodeCapacity::of_cores(1),
            ends_ms: None,
        }
    }

    /// Time in ms after the last renewal of a lease at which no other node can run the task any more.
    pub(super) fn lease_over_ms(&self) -> u64 {
        self.lease_ms + self.slack_ms
    }

    /// First of the numbers that no earlier daemon has used for its messages.
    pub(super) fn first_number(&self) -> u64 {
        self.incarnation.wrapping_shl(20)
    }
}

impl Node {
    pub(super) fn new(options: CoreOptions, began: Now, mut book: Book) -> Self {
        let processes = Processes::new(options.capacity.clone());
        let gates = Gates::of(&book);
        book.renew_all(began.moment);
        book.tasks_mut().begin_delays(began.moment, began.unix_ms);
        Self {
            me: node_id(&options.name),
            options,
            began,
            book,
            processes,
            gates,
            peers: Peers::default(),
            counts: NodeCounters::default(),
            warnings: Vec::new(),
            short_tasks: ShortTaskDetector::default(),
            moves: MovesByNode::default(),
            durations: DurationHistogram::default(),
            ended: Vec::new(),
        }
    }

    pub(super) fn name_of(&self, node: NodeId) -> String {
        if node == self.me { self.options.name.clone() } else { self.peers.name_of(node) }
    }

    /// Counts what became of own tasks.
    pub(super) fn count_outcome(&mut self, outcome: &TaskOutcome, n_tasks: u64) {
        let counts = &mut self.counts;
        let count = match outcome {
            TaskOutcome::Canceled => &mut counts.n_canceled,
            outcome if outcome.is_success() => &mut counts.n_succeeded,
            _ => &mut counts.n_failed,
        };
        *count += n_tasks;
    }

    /// Counts how long an attempt took that ended here by itself.
    pub(super) fn note_duration(&mut self, ended: &EndedAttempt) {
        if let Some(TaskOutcome::Exit(_) | TaskOutcome::Signal(_)) = ended.end.outcome() {
            self.durations.add(ended.ended_ms.saturating_sub(ended.started_ms));
        }
    }

    pub(super) fn attempt(&self, number: u64, instance: u32) -> Attempt {
        Attempt { task: TaskKey { home: self.me, number }, instance }
    }
}

/// Number as messages and rules have it.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Other nodes that are known.
#[derive(Debug, Default)]
pub(super) struct Peers {
    members: BTreeMap<NodeId, Member>,
}

/// Nodes that can be reached now and could not before, or whose daemon has restarted, and those that are lost.
pub(super) struct PeerChanges {
    pub(super) reached: BTreeSet<NodeId>,
    pub(super) lost: BTreeSet<NodeId>,
}

impl Peers {
    pub(super) fn get(&self, node: NodeId) -> Option<&Member> {
        self.members.get(&node)
    }

    pub(super) fn is_up(&self, node: NodeId) -> bool {
        self.up(node).is_some()
    }

    fn up(&self, node: NodeId) -> Option<&Member> {
        self.get(node).filter(|member| member.presence == Presence::Up)
    }

    /// All nodes that are up.
    pub(super) fn all_up(&self) -> Vec<NodeId> {
        self.members.keys().copied().filter(|node| self.is_up(*node)).collect()
    }

    /// Returns whether a node can be asked: it is up, or about to leave.
    pub(super) fn is_heard(&self, node: NodeId) -> bool {
        let heard = |member: &Member| matches!(member.presence, Presence::Up | Presence::Stopping);
        self.get(node).is_some_and(heard)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Member> {
        self.members.values().find(|member| member.name == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(super) fn name_of(&self, node: NodeId) -> String {
        let unknown = || format!("node-{:08x}", node.0);
        self.get(node).map_or_else(unknown, |member| member.name.clone())
    }

    /// Replaces all other nodes.
    pub(super) fn replace(&mut self, members: impl Iterator<Item = Member>) -> PeerChanges {
        let members = members.map(|member| (member.id, member)).collect();
        let before = Self { members: std::mem::replace(&mut self.members, members) };
        let is_new = |id: &NodeId| {
            let incarnation = |peers: &Self| peers.up(*id).map(|member| member.incarnation);
            self.is_up(*id) && incarnation(&before) != incarnation(self)
        };
        let is_lost = |id: &NodeId| before.is_up(*id) && !self.is_up(*id);
        PeerChanges {
            reached: self.members.keys().copied().filter(is_new).collect(),
            lost: before.members.keys().copied().filter(is_lost).collect(),
        }
    }
}
