//! Members thread, which maintains the table of nodes: takes news of links and gossip, dials, and passes news on.
//!
//! A node has links to those with which it has something to do, and no others. It knows the rest from hearsay, looks after
//! one of them after the other, and tries those that another node could not reach. Who does not answer is silent, for this
//! node, and dialed until it does.

use super::gossip::{Gossip, UntoldNews};
use super::meeting::Meeting;
use super::warnings::Warnings;
use super::{Announced, ClusterEvent, ClusterOptions, OnEvent, Shared};
use crate::links::{Hello, LinkError, LinkEvent, Links, Refusal};
use crate::lock;
use node_core::interface::{Member, NodeId, PeerMessage};
use node_core::membership_table::{MembershipTable, NodeRecord, Participation};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};
use task_api::Presence;

/// Time between two looks when no message arrives: in the first minute, while nodes find each other, and later.
const LOOKS_EVERY: Duration = Duration::from_millis(500);
const LOOKS_LATER_EVERY: Duration = Duration::from_secs(2);
const FINDS_FOR: Duration = Duration::from_secs(60);
/// Time between two nodes that are looked after.
const PROBES_EVERY: Duration = Duration::from_secs(10);
/// Time for which a name has to be refused until it counts as taken: by then links to a daemon that died are gone.
const TAKEN_AFTER: Duration = Duration::from_secs(6);
/// Most addresses that are dialed at the same time; where there are more, they take turns.
const N_DIALED_MAX: usize = 8;
const TURNS_EVERY: Duration = Duration::from_secs(6);
/// Most nodes that another one could not reach and that are tried at one look.
const N_CHECKS_AT_ONCE: usize = 8;

/// Message to the thread.
#[derive(Debug)]
pub(super) enum MembershipEvent {
    Link(LinkEvent),
    Gossip {
        from: NodeId,
        gossip: Gossip,
    },
    /// A message for the core from a node that it had not been told of.
    Early {
        from: NodeId,
        message: Box<PeerMessage>,
    },
    /// The values that this node announces may have changed.
    Look,
    /// The thread has to end; it answers when everything was sent.
    End(SyncSender<()>),
}

pub(super) struct MembershipThread {
    table: MembershipTable,
    links: Arc<Links>,
    shared: Arc<Shared>,
    on_event: OnEvent,
    peers: Vec<String>,
    meeting: Option<Meeting>,
    linked: BTreeSet<NodeId>,
    dialed: BTreeSet<String>,
    told: Vec<Member>,
    news: UntoldNews,
    /// Nodes that another one could not reach.
    in_doubt: BTreeSet<NodeId>,
    began: Instant,
    looked: Instant,
    /// When a node was looked after last, and its place.
    probed: (Instant, u32),
    /// Time since when a node refuses this one's name, and the error message.
    refused: Option<(Instant, String)>,
    warnings: Warnings,
}

impl MembershipThread {
    pub(super) fn new(
        me: Hello,
        options: ClusterOptions,
        links: Arc<Links>,
        shared: Arc<Shared>,
        on_event: OnEvent,
    ) -> Self {
        let now = Instant::now();
        let meeting =
            options.settings.meeting.map(|folder| Meeting::new(folder, &me.name, &me.address));
        let seed = u64::from(me.id().0) ^ me.incarnation;
        let me = NodeRecord {
            name: me.name,
            address: me.address,
            incarnation: me.incarnation,
            revision: 1,
            n_cores: options.measurement.n_cores,
            capacity: options.capacity.clone(),
            speed: options.measurement.speed,
            standing: Participation::Here,
        };
        Self {
            table: MembershipTable::new(me),
            links,
            shared,
            on_event,
            peers: options.settings.peers,
            meeting,
            linked: BTreeSet::new(),
            dialed: BTreeSet::new(),
            told: Vec::new(),
            news: UntoldNews::new(seed),
            in_doubt: BTreeSet::new(),
            began: now,
            looked: now,
            probed: (now, 0),
            refused: None,
            warnings: Warnings::default(),
        }
    }

    pub(super) fn run(mut self, incoming: &Receiver<MembershipEvent>) {
        self.look();
        self.dial();
        loop {
            let look = self.looks_every().saturating_sub(self.looked.elapsed());
            let due = [self.news.due_in(), self.warnings.due_in()].into_iter().flatten().min();
            let wait = due.map_or(look, |due| due.min(look));
            match incoming.recv_timeout(wait) {
                Ok(MembershipEvent::Link(event)) => self.on_link(event),
                Ok(MembershipEvent::Gossip { from, gossip }) => self.on_gossip(from, gossip),
                Ok(MembershipEvent::Early { from, message }) => {
                    // The link was reported before.
                    self.tell_core();
                    let message = *message;
                    (self.on_event)(ClusterEvent::FromPeer { from, message });
                }
                Ok(MembershipEvent::Look) => self.announce(),
                Ok(MembershipEvent::End(done)) => {
                    self.announce();
                    self.spread();
                    // The receiver may have stopped waiting.
                    done.send(()).ok();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.looks_every() <= self.looked.elapsed() {
                self.look();
            }
            self.tell_core();
            self.dial();
            if self.news.due_in().is_some_and(|due| due.is_zero()) {
                self.spread();
            }
            for warning in self.warnings.take_due(&self.table) {
                (self.on_event)(ClusterEvent::Warning(warning));
            }
        }
    }

    fn looks_every(&self) -> Duration {
        let is_quiet = FINDS_FOR <= self.began.elapsed() && self.in_doubt.is_empty();
        if is_quiet && self.refused.is_none() { LOOKS_LATER_EVERY } else { LOOKS_EVERY }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn on_link(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Up(hello) => {
                let now_ms = self.now_ms();
                self.table.linked(&hello.name, &hello.address, hello.incarnation, now_ms);
                self.linked.insert(hello.id());
                self.in_doubt.remove(&hello.id());
                self.refused = None;
                let records = vec![self.table.me().clone()];
                let gossip = Gossip { greets: true, records, ..Gossip::default() };
                gossip.send(hello.id(), &self.links);
            }
            LinkEvent::Down { name, error } => {
                let id = node_core::interface::node_id(&name);
                self.lose(id);
                if !self.table.has_left(id) {
                    self.warnings.keep(Some(id), error);
                }
            }
            LinkEvent::Rested(id) => {
                self.linked.remove(&id);
                self.table.rested(id, self.now_ms());
            }
            // It is dialed from now on, which says why it cannot be reached.
            LinkEvent::Unreached(id) => self.lose(id),
            LinkEvent::Failed { met, error } => {
                self.note_refusal(&error);
                self.warnings.keep(met, error);
            }
            // Such messages go to the core directly.
            LinkEvent::Message { .. } => {}
        }
    }

    fn lose(&mut self, node: NodeId) {
        self.linked.remove(&node);
        self.in_doubt.remove(&node);
        if self.table.silent(node, self.now_ms())
            && let Some(incarnation) = self.table.incarnation(node)
        {
            self.news.add_silent(node, incarnation);
        }
    }

    fn on_gossip(&mut self, from: NodeId, gossip: Gossip) {
        let Gossip { greets, digest, records, silent } = gossip;
        let news = self.table.merge_all(records, self.now_ms());
        self.news.add(news);
        self.in_doubt.append(&mut self.table.take_doubted());
        let in_doubt = silent.into_iter().filter(|(id, age)| self.table.is_in_doubt(*id, *age));
        self.in_doubt.extend(in_doubt.map(|(id, _)| id));
        if greets {
            self.compare(from);
        }
        if digest.is_some_and(|digest| digest != self.table.digest()) {
            let (records, silent) = (self.table.records(), self.table.silent_nodes());
            Gossip { records, silent, ..Gossip::default() }.send(from, &self.links);
        }
    }

    /// Asks a node for its table, if that differs from the one here.
    fn compare(&self, with: NodeId) {
        let digest = Some(self.table.digest());
        Gossip { digest, ..Gossip::default() }.send(with, &self.links);
    }

    /// Notes that this node's name was refused, if this daemon is the later one of the two: it has to give way.
    fn note_refusal(&mut self, error: &LinkError) {
        if let LinkError::Refused { refusal: Refusal::NameTaken { since, .. }, .. } = error
            && *since < self.table.me().incarnation
            && self.refused.is_none()
        {
            self.refused = Some((Instant::now(), error.to_string()));
        }
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        self.announce();
        self.table.forget(self.now_ms());
        if let Some((_, sentence)) = self.refused.take_if(|(at, _)| TAKEN_AFTER <= at.elapsed()) {
            (self.on_event)(ClusterEvent::NameTaken(sentence));
        }
        if let Some(meeting) = &mut self.meeting
            && let Err(error) = meeting.look(&mut self.peers)
        {
            (self.on_event)(ClusterEvent::Warning(error.to_string()));
        }
        for _ in 0..N_CHECKS_AT_ONCE {
            let Some(node) = self.in_doubt.pop_first() else { break };
            self.links.reach(node);
        }
        if PROBES_EVERY <= self.probed.0.elapsed() {
            self.probed.0 = Instant::now();
            self.probe();
        }
    }

    /// Looks after the next node: by a link, if there is none, or else by comparing tables. Each node has an order of
    /// its own.
    fn probe(&mut self) {
        let me = self.table.me().id();
        let place =
            |node: &NodeId| crc32fast::hash(&[me.0.to_le_bytes(), node.0.to_le_bytes()].concat());
        let mut nodes: Vec<(u32, NodeId)> =
            self.table.reachable().map(|(node, _)| (place(&node), node)).collect();
        nodes.sort_unstable();
        let next = nodes.iter().find(|(place, _)| self.probed.1 < *place).or(nodes.first());
        let Some(&(place, node)) = next else { return };
        self.probed.1 = place;
        if self.linked.contains(&node) {
            self.compare(node);
        } else {
            self.links.reach(node);
        }
    }

    fn announce(&mut self) {
        let Announced { presence, measurement } = *lock(&self.shared.announced);
        let standing = match presence {
            Presence::Up | Presence::Silent => Participation::Here,
            Presence::Stopping => Participation::Stopping,
            Presence::Left => Participation::Left,
        };
        if self.table.set_own(standing, measurement) {
            self.news.add([self.table.me().clone()]);
            self.spread();
        }
    }

    fn spread(&mut self) {
        let here: Vec<NodeId> = self.table.reachable().map(|(node, _)| node).collect();
        self.news.spread(&self.linked, &here, &self.links);
    }

    /// Dials silent nodes, and addresses at which no node is known; stops dialing all others.
    fn dial(&mut self) {
        let wanted = self.wanted();
        wanted.difference(&self.dialed).for_each(|address| self.links.dial(address));
        self.dialed.difference(&wanted).for_each(|address| self.links.forget(address));
        self.dialed = wanted;
    }

    fn wanted(&self) -> BTreeSet<String> {
        let me = self.table.me();
        let here = self.table.here_addresses();
        let is_found = |address: &str| {
            let met = self.links.met_at(address);
            let is_met = met.is_some_and(|node| node == me.id() || self.table.is_here(node));
            is_met || address == me.address || here.contains(address)
        };
        let unknown = self.peers.iter().map(String::as_str).filter(|address| !is_found(address));
        let all: BTreeSet<&str> = self.table.silent_addresses().chain(unknown).collect();
        if all.len() <= N_DIALED_MAX {
            return all.into_iter().map(str::to_owned).collect();
        }
        let place = |address: &&str| crc32fast::hash([&me.name, *address].concat().as_bytes());
        let mut all: Vec<&str> = all.into_iter().collect();
        all.sort_by_cached_key(place);
        let n_turns = self.began.elapsed().as_secs() / TURNS_EVERY.as_secs();
        let first = usize::try_from(n_turns).unwrap_or(0) * N_DIALED_MAX % all.len();
        let turn = all.iter().cycle().skip(first).take(N_DIALED_MAX);
        turn.map(|address| (*address).to_owned()).collect()
    }

    fn tell_core(&mut self) {
        let members = self.table.members();
        if members != self.told {
            self.links
                .know(self.table.reachable().map(|(node, it)| (node, hello_of(it))).collect());
            self.told.clone_from(&members);
            let ids = members.iter().map(|member| member.id).collect();
            (self.on_event)(ClusterEvent::Members(members));
            // From now on their messages go straight to the core, behind this event.
            *lock(&self.shared.told) = ids;
        }
    }
}

fn hello_of(record: &NodeRecord) -> Hello {
    let NodeRecord { name, address, incarnation, .. } = record.clone();
    Hello { name, address, incarnation }
}
