//! World of the tests: a clock, a network, disks, and their failures.

use super::acts::{Act, Acts};
use super::keeper::Keeper;
use super::random::Random;
use super::trouble::{Trouble, capacity};
use crate::book::{Book, BookLimits, JournalRecord};
use crate::core::{Core, CoreOptions};
use crate::interface::{
    CoreEvent, CoreTimer, KeeperEvent, KeeperOrder, Measurement, Member, NodeCapacity, NodeId, Now,
    PeerMessage, node_id,
};
use balancing_policies::{Moment, Policy};
use std::collections::BTreeSet;
use task_api::{DaemonAnswer, Presence, TaskRange};

#[derive(Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) core: Option<Core>,
    incarnation: u64,
    pub(super) keeper: Keeper,
    pub(super) records: Vec<JournalRecord>,
    n_durable: usize,
    pub(super) gated: Vec<(usize, Act)>,
    timers: Vec<(CoreTimer, Moment)>,
    /// The node's clock is `world * rate_of_1000 / 1000 + offset`.
    rate_of_1000: u64,
    offset_ms: u64,
    back_at_ms: u64,
}

impl Node {
    fn moment(&self, now_ms: u64) -> Moment {
        Moment((now_ms * self.rate_of_1000 / 1000 + self.offset_ms) * 1_000_000)
    }

    fn now(&self, now_ms: u64) -> Now {
        Now { moment: self.moment(now_ms), unix_ms: now_ms }
    }
}

struct Packet {
    at_ms: u64,
    from: usize,
    to: usize,
    message: PeerMessage,
}

pub(super) struct World {
    pub(super) now_ms: u64,
    pub(super) nodes: Vec<Node>,
    packets: Vec<Packet>,
    cuts: BTreeSet<(usize, usize)>,
    policy: Policy,
    pub(super) trouble: Trouble,
    has_wishes: bool,
    pub(super) random: Random,
    /// Names that clients were given.
    pub(super) promised: Vec<TaskRange>,
    pub(super) n_starts: u64,
    /// Number of events by kind: submissions, cuts, kills, crashes, deaths of keepers, cancels, holes.
    pub(super) n_happened: [usize; 7],
    /// Chance that the disk has written everything after a step, of 1000.
    n_syncs_of_1000: u64,
}

impl World {
    pub(super) fn new(
        n_nodes: usize,
        policy: Policy,
        trouble: Trouble,
        mut random: Random,
    ) -> Self {
        let node = |idx: usize| Node {
            name: format!("n{idx}"),
            rate_of_1000: random.between(990, 1010),
            offset_ms: random.between(0, 1_000_000),
            ..Node::default()
        };
        let nodes = (0..n_nodes).map(node).collect();
        let slow = if 0 < trouble.n_crashes { random.below(3) } else { 0 };
        let n_syncs_of_1000 = [500, 50, 5][slow];
        let mut world = Self {
            now_ms: 0,
            nodes,
            packets: Vec::new(),
            cuts: BTreeSet::new(),
            policy,
            trouble,
            has_wishes: trouble.has_wishes,
            random,
            promised: Vec::new(),
            n_starts: 0,
            n_happened: [0; 7],
            n_syncs_of_1000,
        };
        (0..n_nodes).for_each(|idx| world.boot(idx));
        world
    }

    /// Lets time pass in which tasks are submitted and failures happen.
    pub(super) fn run_with_trouble(&mut self, ms: u64) {
        let end_ms = self.now_ms + ms;
        let Trouble { n_cuts, n_kills, n_crashes, n_keeper_deaths, n_cancels, n_holes, .. } =
            self.trouble;
        let mut plan = Vec::<(u64, usize)>::new();
        let counts = [12, n_cuts, n_kills, n_crashes, n_keeper_deaths, n_cancels, n_holes];
        for (kind, n) in counts.into_iter().enumerate() {
            plan.extend((0..n).map(|_| (self.random.between(self.now_ms, end_ms), kind)));
        }
        if ms < 10_000 {
            plan.clear();
        }
        plan.sort_unstable();
        for (at_ms, kind) in plan {
            self.run_until(at_ms);
            self.happen(kind);
        }
        self.run_until(end_ms);
    }

    /// Ends all failures, and runs until everything is over or took much too long.
    pub(super) fn heal_and_run(&mut self) {
        self.cuts.clear();
        self.trouble = Trouble::default();
        self.n_syncs_of_1000 = 500;
        let limit_ms = self.now_ms + 600_000;
        while self.now_ms < limit_ms && !self.is_over() {
            self.run_until(self.now_ms + 500);
        }
    }

    fn happen(&mut self, kind: usize) {
        let idx = self.random.below(self.nodes.len());
        self.n_happened[kind] += usize::from(self.has_effect(kind, idx));
        match kind {
            0 => {
                let n_tasks = self.random.between(1, 20);
                self.submit(idx, n_tasks);
            }
            1 => {
                let other = self.random.below(self.nodes.len());
                if !self.cuts.remove(&(idx.min(other), idx.max(other))) {
                    self.cuts.insert((idx.min(other), idx.max(other)));
                }
            }
            2 => self.down(idx, false),
            3 => self.down(idx, true),
            6 => {
                self.down(idx, false);
                self.damage(idx);
            }
            4 => {
                self.nodes[idx].keeper = Keeper::default();
                self.event(idx, CoreEvent::Keeper(KeeperEvent::Gone));
                let inventory = self.nodes[idx].keeper.inventory();
                self.event(idx, CoreEvent::Keeper(inventory));
            }
            _ => {
                if let Some(tasks) = self.promised.last().cloned() {
                    self.cancel(&tasks);
                }
            }
        }
    }

    /// Kills the daemon; with `machine`, everything else too, and the disk has only what was synced.
    fn down(&mut self, idx: usize, machine: bool) {
        let limit_ms = if self.random.happens(500) { 1_000 } else { 20_000 };
        let back_ms = self.random.between(10, limit_ms);
        let node = &mut self.nodes[idx];
        if node.core.take().is_none() {
            return;
        }
        node.gated.clear();
        node.timers.clear();
        node.back_at_ms = self.now_ms + back_ms;
        if machine {
            let n_lost = node.records.len() - node.n_durable;
            let n_kept = node.n_durable + self.random.below(n_lost + 1);
            node.records.truncate(n_kept);
            node.keeper = Keeper::default();
            node.offset_ms = self.random.between(0, 1_000_000);
        }
    }

    fn boot(&mut self, idx: usize) {
        let mut acts = Acts::default();
        let node = &mut self.nodes[idx];
        node.incarnation += 1;
        node.n_durable = node.records.len();
        acts.n_records = node.records.len();
        let mut book = replay(&node.name, &node.records);
        if self.random.happens(300) {
            // The journal was compacted.
            node.records.clear();
            book.snapshot(|record| node.records.push(record.clone()));
            node.n_durable = node.records.len();
            acts.n_records = node.records.len();
            book = replay(&node.name, &node.records);
        }
        let capacity = capacity(idx, self.has_wishes);
        let options = CoreOptions {
            incarnation: node.incarnation,
            policy: self.policy,
            seed: node.incarnation,
            measurement: Measurement { n_cores: capacity.cpus, speed: 1.0 },
            capacity: NodeCapacity { cores: vec![(0..capacity.cpus).collect()], amounts: capacity },
            ..CoreOptions::new(&node.name)
        };
        node.core = Some(Core::new(options, node.now(self.now_ms), book, &mut acts));
        self.carry_out(idx, acts);
        self.members(idx);
        let inventory = self.nodes[idx].keeper.inventory();
        self.event(idx, CoreEvent::Keeper(inventory));
    }

    fn is_cut(&self, a: usize, b: usize) -> bool {
        self.cuts.contains(&(a.min(b), a.max(b)))
    }

    fn members(&mut self, idx: usize) {
        let others = self.nodes.iter().enumerate().filter(|(other, _)| *other != idx);
        let member = |(other, node): (usize, &Node)| {
            let up = node.core.is_some() && !self.is_cut(idx, other);
            Member {
                id: node_id(&node.name),
                name: node.name.clone(),
                address: String::new(),
                incarnation: node.incarnation,
                presence: if up { Presence::Up } else { Presence::Silent },
                n_cores: capacity(other, self.has_wishes).cpus,
                speed: 1.0,
                capacity: capacity(other, self.has_wishes),
            }
        };
        let mut members = others.map(member).collect::<Vec<_>>();
        members.sort_by_key(|member| member.id);
        self.event(idx, CoreEvent::Members(members));
    }

    pub(super) fn event(&mut self, idx: usize, event: CoreEvent) {
        let node = &mut self.nodes[idx];
        let now = node.now(self.now_ms);
        let Some(core) = &mut node.core else { return };
        let mut acts = Acts { n_records: node.records.len(), ..Acts::default() };
        core.on(now, event, &mut acts);
        self.carry_out(idx, acts);
    }

    fn carry_out(&mut self, idx: usize, acts: Acts) {
        let node = &mut self.nodes[idx];
        node.records.extend(acts.records);
        node.gated.extend(acts.gated);
        node.timers.extend(acts.timers);
        for order in acts.orders {
            let lasts_ms = self.random.between(1, 4_000);
            let n_fails = self.trouble.n_fails_of_1000;
            let code = i32::from(0 < n_fails && self.random.happens(n_fails));
            let job = match &order {
                KeeperOrder::Start(job) => Some(job.clone()),
                _ => None,
            };
            let started = self.nodes[idx].keeper.order(order, self.now_ms, (lasts_ms, code));
            if let Some((task, job)) = started.zip(job) {
                self.assert_has_all_nodes(idx, &job);
                self.n_starts += 1;
                let runs = self.nodes.iter().map(|node| {
                    node.keeper.running.keys().filter(|attempt| attempt.task == task).count()
                });
                assert_eq!(runs.sum::<usize>(), 1, "{task:?} runs twice");
                if self.has_wishes {
                    let core = self.nodes[idx].core.as_ref();
                    let rooms = core.into_iter().flat_map(|core| core.roles.rooms.given());
                    let rooms = rooms.map(|(_, allocation)| allocation);
                    self.nodes[idx].keeper.assert_fits(rooms, &capacity(idx, true));
                    self.assert_in_order(task);
                }
            }
        }
        acts.at_once.into_iter().for_each(|act| self.act(idx, act));
    }

    fn act(&mut self, idx: usize, act: Act) {
        match act {
            Act::Answer(DaemonAnswer::Submitted { tasks }) => self.promised.push(tasks),
            Act::Answer(_) => {}
            Act::Forget(order) => {
                self.nodes[idx].keeper.order(order, self.now_ms, (0, 0));
            }
            Act::Send(to, message) => self.post(idx, to, message),
        }
    }

    fn post(&mut self, from: usize, to: NodeId, message: PeerMessage) {
        let to = self.nodes.iter().position(|node| node_id(&node.name) == to).unwrap();
        assert_ne!(from, to);
        if self.is_cut(from, to) || self.random.happens(self.trouble.n_lost_of_1000) {
            return;
        }
        if self.random.happens(self.trouble.n_doubled_of_1000) {
            let at_ms = self.now_ms + self.random.between(1, 2_000);
            self.packets.push(Packet { at_ms, from, to, message: message.clone() });
        }
        let late = self.random.happens(self.trouble.n_late_of_1000);
        let limit_ms = if late { 30_000 } else { 50 };
        let at_ms = self.now_ms + self.random.between(1, limit_ms);
        self.packets.push(Packet { at_ms, from, to, message });
    }

    /// Runs in steps of 10 ms: the disk, keepers, packets, timers, membership.
    pub(super) fn run_until(&mut self, end_ms: u64) {
        while self.now_ms < end_ms {
            self.now_ms += 10;
            for idx in 0..self.nodes.len() {
                self.pass(idx);
            }
            let now_ms = self.now_ms;
            let due =
                self.packets.extract_if(.., |packet| packet.at_ms <= now_ms).collect::<Vec<_>>();
            for Packet { from, to, message, .. } in due {
                let from = node_id(&self.nodes[from].name);
                self.event(to, CoreEvent::FromPeer { from, message });
            }
        }
    }

    fn pass(&mut self, idx: usize) {
        let now_ms = self.now_ms;
        let node = &mut self.nodes[idx];
        let moment = node.moment(now_ms);
        let ended = node.keeper.pass(now_ms, moment);
        if node.core.is_none() {
            if node.back_at_ms <= now_ms {
                self.boot(idx);
            }
            return;
        }
        if !ended.is_empty() {
            self.event(idx, CoreEvent::Keeper(KeeperEvent::Ended(ended)));
        }
        if self.random.happens(self.n_syncs_of_1000) {
            let node = &mut self.nodes[idx];
            node.n_durable = node.records.len();
            let gated = std::mem::take(&mut node.gated);
            gated.into_iter().for_each(|(_, act)| self.act(idx, act));
        }
        let node = &mut self.nodes[idx];
        let due = node.timers.extract_if(.., |(_, at)| *at <= moment).collect::<Vec<_>>();
        for (timer, _) in due {
            self.event(idx, CoreEvent::Timer(timer));
        }
        if self.random.happens(20) {
            self.members(idx);
        }
    }
}

pub(super) fn replay(name: &str, records: &[JournalRecord]) -> Book {
    let mut book = Book::new(node_id(name), BookLimits::default());
    for record in records {
        book.apply(record);
    }
    book
}
