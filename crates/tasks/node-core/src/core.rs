//! Core of a node: its reactions to events.
//!
//! [`Core::on`] takes one event after the other. A task has one *home*, the node that it was submitted to, and only
//! the home decides which node may run it: the home itself ([`node`]), or another node to which it gives a lease
//! ([`lending`]). That node runs the task only as long as the home answers its renewals ([`holding`]). So a task never
//! runs twice at the same time, even when nodes cannot reach each other, and runs again when a node is lost.
//!
//! # Invariants
//! - Nothing takes effect before it is on disk: what others may rely on goes through [`Out`]'s gates.
//! - Every message between nodes may be lost: those that matter are repeated until they are answered, or expire.
//! - Nothing is started before the keeper has reported what runs already.
//!
//! # Not here
//! The rules by which tasks move: `balancing-policies`. The tasks: [`crate::book`].

mod at;
mod balancing;
mod explain;
mod gathering;
mod holding;
mod lending;
mod node;
mod peers;
mod processes;
mod relaying;
mod requests;
mod short_tasks;
mod stopping;
mod task_view;
mod waits;

use balancing_policies::{Balance, NodeLoad};

use crate::book::Book;
use crate::interface::{
    CoreTimer, Ended, Event, KeeperEvent, KeeperOrder, Member, NodeId, Now, Out, PeerMessage,
};
use at::{Asker, At};
use gathering::Gathering;
use holding::{Holding, N_RESULTS_MAX, Offered};
use lending::{Lending, Renewal};
pub use node::CoreOptions;
use node::Node;
use relaying::Relaying;
use stopping::Stopping;
use task_view::TaskView;
use waits::Waits;

/// Time between two checks of leases, offers and questions, in ms.
const SWEEP_MS: u64 = 250;

/// State of a node, and its reactions to events.
#[derive(Debug)]
pub struct Core {
    node: Node,
    lending: Lending,
    holding: Holding,
    balance: Balance,
    /// Load that was last reported to the rules.
    reported: Option<NodeLoad>,
    waits: Waits,
    gathering: Gathering,
    relaying: Relaying,
    stopping: Option<Stopping>,
}

impl Core {
    /// A node with the contents of its journal.
    #[must_use]
    pub fn new(options: CoreOptions, now: Now, book: Book, out: &mut impl Out) -> Self {
        out.timer(CoreTimer::Sweep, now.moment.plus_ms(SWEEP_MS));
        let holding = Holding::new(options.incarnation, options.first_number());
        let (policy, seed) = (options.policy, options.seed);
        let node = Node::new(options, now, book);
        Self {
            lending: Lending::default(),
            holding,
            balance: Balance::new(node.me, policy, seed),
            reported: None,
            waits: Waits::default(),
            gathering: Gathering::default(),
            relaying: Relaying::default(),
            stopping: None,
            node,
        }
    }

    /// Handles an event.
    pub fn on(&mut self, now: Now, event: Event, out: &mut impl Out) {
        let at = &mut At { now, out };
        match event {
            Event::FromClient { client, request } => self.on_client(client, request, at),
            Event::ClientGone { client } => {
                self.waits.gone(Asker::Client(client));
                self.gathering.gone(client);
                self.relaying.gone(client, at);
            }
            Event::FromPeer { from, message } => self.on_peer(from, message, at),
            Event::Keeper(said) => self.on_keeper(said, at),
            Event::KeeperAway => self.node.processes.ready = false,
            Event::Members(members) => self.on_members(members, at),
            Event::Measured(measurement) => {
                self.node.options.measurement = measurement;
                self.balance_members(at);
            }
            Event::Timer(CoreTimer::Balance(timer)) => {
                self.balance_by(at, |balance, now, actions| {
                    balance.on_timer(now, timer, actions);
                })
            }
            Event::Timer(CoreTimer::Sweep) => self.sweep(at),
        }
        self.settle(at);
    }

    /// Makes the node leave, on a request from outside.
    pub fn leave(&mut self, now: Now, at_once: bool, out: &mut impl Out) {
        let at = &mut At { now, out };
        self.stop(at_once, at);
        self.settle(at);
    }

    /// Sets the number of messages between nodes that were dropped because a queue was full.
    pub fn count_dropped(&mut self, n_dropped: u64) {
        self.node.counts.n_dropped = n_dropped;
    }

    /// Sets the warnings that users should know of, a sentence each.
    pub fn set_warnings(&mut self, warnings: Vec<String>) {
        self.node.warnings = warnings;
    }

    /// Book of the node, for writing its journal anew.
    pub fn book_mut(&mut self) -> &mut Book {
        &mut self.node.book
    }

    /// Book of the node.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.node.book
    }

    /// Starts tasks that can be started, reports the load to the rules, and ended tasks to clients.
    fn settle(&mut self, at: &mut At<'_>) {
        self.fill(at);
        self.report_load(at);
        for gather in self.gathering.take_over(at.now.moment) {
            gather.answer(self.status(at.now), &self.node.peers, at);
        }
        for (first, last) in self.node.take_ended() {
            self.waits.ended(first, last);
        }
        self.waits.flush(TaskView(&self.node), at);
        let waits = &self.waits;
        self.node.book.prune(|number| waits.want(number));
    }

    /// Starts tasks while cores are free, those of other nodes first: they came because there was room. Orders
    /// short tasks ahead.
    fn fill(&mut self, at: &mut At<'_>) {
        let now = at.now.moment;
        let Self { node, holding, .. } = self;
        if !node.processes.ready || self.stopping.is_some() || node.processes.are_full(now) {
            return;
        }
        let n_slots = self.balance.n_slots().max(1);
        let n_kept = u64::from(self.balance.n_kept(now));
        let may_start = |node: &Node| n_kept < node.book.tasks().n_queued();
        while node.processes.n() < n_slots as usize
            && (holding.start(node, at) || may_start(node) && node.start(None, at))
        {}
        while node.processes.n() < node.n_orders(n_slots as usize)
            && may_start(node)
            && node.start(Some(n_slots), at)
        {}
    }

    fn sweep(&mut self, at: &mut At<'_>) {
        at.out.timer(CoreTimer::Sweep, at.now.moment.plus_ms(SWEEP_MS));
        for result in self.lending.sweep(&mut self.node, at) {
            self.balance_offer(result, at);
        }
        self.holding.sweep(&mut self.node, at);
        self.relaying.sweep(&self.node.peers, at);
        if let Some(stopping) = &mut self.stopping {
            stopping.sweep(&self.node, at);
        }
        // The rules need a measurement now and then, even when nothing changes.
        self.reported = None;
    }

    fn on_peer(&mut self, from: NodeId, message: PeerMessage, at: &mut At<'_>) {
        let Self { node, lending, holding, .. } = self;
        match message {
            PeerMessage::Balance(message) => self.balance_by(at, |balance, now, actions| {
                balance.on_message(now, from, message, actions);
            }),
            PeerMessage::Offer { offer, incarnation, arounds, works, tasks } => {
                let offered = Offered { offer, arounds, works, tasks };
                self.on_offer(from, incarnation, offered, at);
            }
            PeerMessage::Taken { offer, n_tasks, because } => {
                if let Some(result) = lending.on_taken(from, (offer, n_tasks, because), node, at) {
                    self.balance_offer(result, at);
                }
            }
            PeerMessage::Renew { number, incarnation, whole, shares } => {
                lending.on_renew(from, Renewal { number, incarnation, whole, shares }, node, at);
            }
            PeerMessage::Renewed { number, gone } => {
                holding.on_renewed(from, (number, gone), node, at);
            }
            PeerMessage::Returned { shares, wish, because } => {
                let n_back = lending::on_returned(from, &shares, &because, node, at);
                if let Some(to) = wish.filter(|to| *to != from && *to != node.me) {
                    lending.lend(to, n_back, node, at);
                }
            }
            PeerMessage::Started { shares } => {
                for (share, at_ms) in shares {
                    node.book.started_elsewhere(from, share, at_ms);
                }
            }
            PeerMessage::Cancel { shares } => holding.on_cancel(from, &shares, node, at),
            PeerMessage::Ended { ends } => lending::on_ended(from, ends, node, at),
            PeerMessage::Acknowledged { shares } => {
                holding.on_acknowledged(from, &shares, node, at);
            }
            PeerMessage::Ask { ask, request } => self.on_ask(Asker::Peer(from, ask), request, at),
            PeerMessage::AskGone { ask } => self.waits.gone(Asker::Peer(from, ask)),
            PeerMessage::Answer { ask, answer } => self.relaying.on_answer(from, ask, answer, at),
            PeerMessage::HowAreYou { ask } => {
                let status = Box::new(self.status(at.now));
                at.out.send(from, PeerMessage::IAm { ask, status });
            }
            PeerMessage::IAm { ask, status } => self.gathering.on_i_am(from, ask, *status),
        }
    }

    /// Takes offered tasks, unless this node can take none.
    fn on_offer(&mut self, from: NodeId, incarnation: u64, offered: Offered, at: &mut At<'_>) {
        let because = if incarnation != self.node.options.incarnation || !self.node.processes.ready
        {
            "its daemon has restarted"
        } else if self.stopping.is_some() {
            "it is being stopped"
        } else if N_RESULTS_MAX <= self.node.book.foreign().len() {
            "too many of its results wait to be acknowledged"
        } else {
            if self.holding.on_offer(from, offered, &mut self.node, at) {
                self.balance.on_received(from);
            }
            return;
        };
        let (offer, because) = (offered.offer, Some(because.to_owned()));
        at.out.send(from, PeerMessage::Taken { offer, n_tasks: 0, because });
    }

    fn on_keeper(&mut self, said: KeeperEvent, at: &mut At<'_>) {
        let Self { node, holding, .. } = self;
        match said {
            KeeperEvent::Inventory { running, ended } => {
                node.processes.ready = true;
                for run in running {
                    node.processes.reported(run.attempt);
                    if run.attempt.task.home == node.me {
                        node.runs(run, at);
                    } else {
                        holding.adopt(run.attempt, at.now.moment);
                    }
                }
                ended.into_iter().for_each(|ended| self.attempt_ended(ended, at));
                self.node.take_back_unknown(at);
                self.holding.renew_all(&self.node, at);
            }
            KeeperEvent::Ended(ended) => {
                ended.into_iter().for_each(|ended| self.attempt_ended(ended, at));
            }
            KeeperEvent::Gone => {
                for attempt in node.processes.lost() {
                    if attempt.task.home == node.me {
                        node.attempt_lost(attempt, at);
                    } else {
                        holding.attempt_lost(attempt, at);
                    }
                }
            }
        }
    }

    fn attempt_ended(&mut self, ended: Ended, at: &mut At<'_>) {
        let attempt = ended.attempt;
        self.node.processes.ended(attempt);
        self.node.counts.n_ended += u64::from(ended.end.outcome().is_some());
        if attempt.task.home == self.node.me {
            self.node.attempt_ended(ended, at);
        } else {
            self.holding.attempt_ended(ended, &mut self.node, at);
        }
        at.out.keeper(KeeperOrder::Forget(vec![attempt]));
    }

    fn on_members(&mut self, members: Vec<Member>, at: &mut At<'_>) {
        let me = self.node.me;
        let others = members.into_iter().filter(|member| member.id != me);
        let changes = self.node.peers.replace(others);
        self.balance_members(at);
        changes.lost.into_iter().for_each(|node| self.balance.on_lost(node));
        for node in changes.reached {
            self.balance_by(at, |balance, now, actions| balance.on_reached(now, node, actions));
            if self.node.processes.ready {
                self.holding.renew(node, &self.node.book, at);
            }
        }
        let peers = &self.node.peers;
        self.relaying.on_members(peers, at);
        self.waits.keep_heard(|node| peers.is_heard(node));
    }

    /// Stops the node: it takes and starts nothing any more, and leaves when nothing runs. With `now`, running
    /// tasks are ended, to run again elsewhere, or here when the node comes back.
    fn stop(&mut self, now: bool, at: &mut At<'_>) {
        let stopping = self.stopping.get_or_insert_with(|| Stopping::new(at.now.moment));
        stopping.begin(now, &mut self.node.processes, at);
        self.holding.return_all(at);
    }
}

#[cfg(test)]
mod tests;
