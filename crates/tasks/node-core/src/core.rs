//! Core of a node: its knowledge and its decisions, without threads, clocks, files or sockets.
//!
//! [`Core::on`] takes one event after the other. A task has one *home*, the node that it was submitted to, and only
//! the home decides which node may run it: the home itself (`home`), or another node to which it gives a lease
//! (`lending`). That node runs the task only as long as the home answers its renewals (`holding`). So a task never
//! runs twice at the same time, even when nodes cannot reach each other, and runs again when a node is lost.
//!
//! # Invariants
//! - Nothing takes effect before it is on disk: what others may rely on goes through [`Out`]'s gates.
//! - Every message between nodes may be lost: those that matter are repeated until they are answered, or expire.
//! - Nothing is started before the keeper has reported what runs already.
//!
//! # Not here
//! The rules by which tasks move: `balancing-policies`. The tasks: [`crate::book`].

mod clients;
mod explain;
mod gather;
mod holding;
mod home;
mod lending;
mod peers;
mod relay;
mod rules;
mod short_tasks;
mod status;
mod stopping;
mod uncertain;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use balancing_policies::{Balance, NodeLoad, Policy};
use task_api::Counts;

use crate::book::{Book, BookLimits, JournalRecord};
use crate::interface::{
    Attempt, CoreTimer, Ended, Event, KeeperEvent, KeeperOrder, Killed, Measurement, Moment,
    NodeId, Now, Out, PeerMessage, node_id,
};
use clients::Clients;
use holding::Holding;
use lending::Lending;
use peers::Peers;
use short_tasks::ShortTaskDetector;
use stopping::Stopping;

/// Time between two checks of leases, offers and questions, in ms.
const SWEEP_MS: u64 = 250;
/// Time for which nothing is started after the system had no room for a process, in ms.
const FULL_MS: u64 = 500;

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
}

impl CoreOptions {
    /// Options of a node with this name, one core, and the usual times.
    #[must_use]
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
        }
    }
}

/// State of a node, and its reactions to events.
#[derive(Debug)]
pub struct Core {
    me: NodeId,
    options: CoreOptions,
    began: Now,
    book: Book,
    /// Attempts that the keeper runs, each with the reason for which the keeper was told to end it, if any.
    running: BTreeMap<Attempt, Option<Killed>>,
    /// True when the keeper has reported what it runs.
    ready: bool,
    short_tasks: ShortTaskDetector,
    /// Moment before which nothing is started, since the system had no room for another process.
    full_until: Moment,
    holding: Holding,
    lending: Lending,
    peers: Peers,
    balance: Balance,
    reported: Option<NodeLoad>,
    clients: Clients,
    stopping: Option<Stopping>,
    counts: Counts,
    /// Sentences about damage on the node, for users.
    warnings: Vec<String>,
}

/// Time of an event, and the receiver of the core's output.
struct At<'a> {
    now: Now,
    out: &'a mut dyn Out,
}

impl Core {
    /// A node with the contents of its journal.
    #[must_use]
    pub fn new(options: CoreOptions, now: Now, mut book: Book, out: &mut impl Out) -> Self {
        let me = node_id(&options.name);
        book.renew_all(now.moment);
        out.timer(CoreTimer::Sweep, now.moment.plus_ms(SWEEP_MS));
        Self {
            me,
            began: now,
            book,
            running: BTreeMap::new(),
            ready: false,
            short_tasks: ShortTaskDetector::default(),
            full_until: Moment(0),
            holding: Holding::new(options.incarnation),
            lending: Lending::default(),
            peers: Peers::default(),
            balance: Balance::new(me, options.policy, options.seed),
            reported: None,
            clients: Clients::default(),
            stopping: None,
            counts: Counts::default(),
            warnings: Vec::new(),
            options,
        }
    }

    /// An empty book for a node of this name.
    #[must_use]
    pub fn book_for(name: &str, limits: BookLimits) -> Book {
        Book::new(node_id(name), limits)
    }

    /// Handles an event.
    pub fn on(&mut self, now: Now, event: Event, out: &mut impl Out) {
        let at = &mut At { now, out };
        match event {
            Event::FromClient { client, request } => self.on_client(client, request, at),
            Event::ClientGone { client } => self.on_client_gone(client, at),
            Event::FromPeer { from, message } => self.on_peer(from, message, at),
            Event::Keeper(said) => self.on_keeper(said, at),
            Event::KeeperAway => self.ready = false,
            Event::Members(members) => self.on_members(members, at),
            Event::Measured(measurement) => {
                self.options.measurement = measurement;
                self.tell_members(at);
            }
            Event::Timer(CoreTimer::Balance(timer)) => self.on_balance_timer(timer, at),
            Event::Timer(CoreTimer::Sweep) => self.sweep(at),
        }
        self.settle(at);
    }

    /// Sets the number of messages between nodes that were dropped because a queue was full.
    pub fn count_dropped(&mut self, n_dropped: u64) {
        self.counts.n_dropped = n_dropped;
    }

    /// Book of the node, for writing its journal anew.
    pub fn book_mut(&mut self) -> &mut Book {
        &mut self.book
    }

    /// Book of the node.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Attempts that run here.
    pub fn running(&self) -> impl Iterator<Item = Attempt> {
        self.running.keys().copied()
    }

    /// Starts tasks that can be started, reports the rest to the rules, and ended tasks to clients.
    fn settle(&mut self, at: &mut At<'_>) {
        self.fill(at);
        self.measure(at);
        self.flush_waits(at);
        let waits = &self.clients.waits;
        self.book.prune(|number| waits.want(number));
    }

    /// Starts tasks while cores are free, those of other nodes first: they came because there was room. Orders
    /// short tasks ahead.
    fn fill(&mut self, at: &mut At<'_>) {
        if !self.ready || self.stopping.is_some() || at.now.moment < self.full_until {
            return;
        }
        let n_slots = self.n_slots();
        let n_kept = u64::from(self.balance.n_kept(at.now.moment));
        let may_start = |core: &Self| n_kept < core.book.n_queued();
        while self.running.len() < n_slots
            && (self.start_held(at) || may_start(self) && self.start_own(None, at))
        {}
        let n_at_once = u32::try_from(n_slots).ok();
        while self.running.len() < self.n_orders(n_slots)
            && may_start(self)
            && self.start_own(n_at_once, at)
        {}
    }

    /// Pauses starts, since the system had no room for another process.
    fn found_no_room(&mut self, at: &At<'_>) {
        self.full_until = at.now.moment.plus_ms(FULL_MS);
    }

    /// Number of tasks that may run at once.
    fn n_slots(&self) -> usize {
        self.balance.n_slots().max(1) as usize
    }

    fn n_orders(&mut self, n_slots: usize) -> usize {
        let next = self.book.next_queued().and_then(|number| self.book.task(number));
        self.short_tasks.n_orders(next.map(crate::book::Task::work), n_slots)
    }

    fn sweep(&mut self, at: &mut At<'_>) {
        at.out.timer(CoreTimer::Sweep, at.now.moment.plus_ms(SWEEP_MS));
        self.sweep_uncertain(at);
        self.sweep_lending(at);
        self.sweep_holding(at);
        self.sweep_clients(at);
        self.sweep_stopping(at);
        // The rules need a measurement now and then, even when nothing changes.
        self.reported = None;
    }

    fn on_peer(&mut self, from: NodeId, message: PeerMessage, at: &mut At<'_>) {
        match message {
            PeerMessage::Balance(message) => self.on_balance_message(from, message, at),
            PeerMessage::Offer { offer, incarnation, arounds, works, tasks } => {
                let offered = holding::Offered { offer, incarnation, arounds, works, tasks };
                self.on_offer(from, offered, at);
            }
            PeerMessage::Taken { offer, n_tasks, because } => {
                self.on_taken(from, (offer, n_tasks), because, at);
            }
            PeerMessage::Renew { number, incarnation, whole, shares } => {
                let renewal = lending::Renewal { number, incarnation, whole, shares };
                self.on_renew(from, renewal, at);
            }
            PeerMessage::Renewed { number, gone } => self.on_renewed(from, number, &gone, at),
            PeerMessage::Returned { shares, wish, because } => {
                self.on_returned(from, &shares, (wish, because), at);
            }
            PeerMessage::Started { shares } => self.on_started(from, &shares),
            PeerMessage::Cancel { shares } => self.on_cancel(from, &shares, at),
            PeerMessage::Ended { ends } => self.on_ended(from, ends, at),
            PeerMessage::Acknowledged { shares } => self.on_acknowledged(from, &shares, at),
            PeerMessage::Ask { ask, request } => self.on_ask(from, ask, request, at),
            PeerMessage::AskGone { ask } => self.on_ask_gone(from, ask),
            PeerMessage::Answer { ask, answer } => self.on_answer(from, ask, answer, at),
            PeerMessage::HowAreYou { ask } => {
                let status = Box::new(self.status(at.now));
                at.out.send(from, PeerMessage::IAm { ask, status });
            }
            PeerMessage::IAm { ask, status } => self.on_i_am(from, ask, *status, at),
        }
    }

    fn on_keeper(&mut self, said: KeeperEvent, at: &mut At<'_>) {
        match said {
            KeeperEvent::Inventory { running, ended } => {
                self.ready = true;
                for run in running {
                    self.running.insert(run.attempt, None);
                    if run.attempt.task.home == self.me {
                        self.own_runs(run, at);
                    } else {
                        self.adopt(run, at);
                    }
                }
                for end in ended {
                    self.attempt_ended(end, at);
                }
                self.own_unknown(at);
                self.renew_with_all(at);
            }
            KeeperEvent::Ended(ends) => {
                for end in ends {
                    self.attempt_ended(end, at);
                }
            }
            KeeperEvent::Gone => {
                self.ready = false;
                for attempt in std::mem::take(&mut self.running).into_keys() {
                    if attempt.task.home == self.me {
                        self.own_lost(attempt, at);
                    } else {
                        self.held_lost(attempt, at);
                    }
                }
            }
        }
    }

    fn attempt_ended(&mut self, ended: Ended, at: &mut At<'_>) {
        self.running.remove(&ended.attempt);
        self.counts.n_ended += u64::from(ended.end.outcome().is_some());
        let attempt = ended.attempt;
        if attempt.task.home == self.me {
            self.own_ended(ended, at);
        } else {
            self.held_ended(ended, at);
        }
        at.out.keeper(KeeperOrder::Forget(vec![attempt]));
    }

    /// Tells the keeper to end an attempt, once for each reason.
    fn kill(&mut self, attempt: Attempt, because: Killed, at: &mut At<'_>) {
        if let Some(told) = self.running.get_mut(&attempt)
            && *told != Some(because)
        {
            *told = Some(because);
            at.out.keeper(KeeperOrder::Kill { attempt, because });
        }
    }

    /// Applies a record, and appends it to the journal.
    fn record(&mut self, record: &JournalRecord, at: &mut At<'_>) {
        at.out.append(record);
        self.book.apply(record);
        match record {
            JournalRecord::Ended(end) => self.clients.waits.ended(end.number),
            // A task that was lost too often, or is to be canceled, does not wait again.
            JournalRecord::Back { number, .. } if self.is_over(*number) => {
                self.clients.waits.ended(*number);
            }
            _ => {}
        }
    }

    fn is_over(&self, number: u64) -> bool {
        self.book.task(number).is_some_and(crate::book::Task::is_over)
    }

    fn name_of(&self, node: NodeId) -> String {
        if node == self.me { self.options.name.clone() } else { self.peers.name_of(node) }
    }
}

/// Set of nodes.
type Nodes = BTreeSet<NodeId>;

#[cfg(test)]
mod tests;
