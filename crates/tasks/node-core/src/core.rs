//! Core of a node: its reactions to events.
//!
//! [`Core::on`] takes one event after the other. A task has one *home*, the node that it was submitted to, and only
//! the home decides which node may run it: the home itself ([`turn`]), or another node to which it gives a lease
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

mod backfill;
mod balancing;
mod explain;
mod failing;
mod gates;
mod gathering;
mod history;
mod holding;
mod idle;
mod jobs;
mod leading;
mod lending;
mod moves;
mod node;
mod peeking;
mod placing;
mod processes;
mod relaying;
mod requests;
mod rooms;
mod spanning;
mod stopping;
mod task_view;
mod turn;
mod waiting;
mod waits;

use crate::book::Book;
use crate::interface::{
    CoreEvent, CoreTimer, EndedAttempt, KeeperEvent, KeeperOrder, Member, Moment, NodeId, Now, Out,
    PeerMessage,
};
use backfill::Backfill;
use balancing_policies::{Balance, NodeLoad};
use gathering::Gathering;
use history::NodeHistory;
use holding::{Holding, N_RESULTS_MAX, Offered};
use idle::{SWEEP_MS, sweep_ms};
use leading::Leading;
use lending::{Lending, Renewal};
pub use node::CoreOptions;
use node::Node;
use peeking::Peeking;
use placing::Placing;
use relaying::Relaying;
use rooms::Rooms;
use spanning::Spanning;
use stopping::Stopping;
use turn::{Asker, Turn};
use waits::Waits;

/// State of a node, and its reactions to events.
#[derive(Debug)]
pub struct Core {
    node: Node,
    roles: Roles,
}

/// Roles of a node beside that of the home of its tasks, each with its own state.
#[derive(Debug)]
struct Roles {
    lending: Lending,
    holding: Holding,
    balance: Balance,
    backfill: Backfill,
    placing: Placing,
    /// Load that was last reported to the rules.
    reported: Option<NodeLoad>,
    waits: Waits,
    gathering: Gathering,
    relaying: Relaying,
    peeking: Peeking,
    rooms: Rooms,
    spanning: Spanning,
    leading: Leading,
    history: NodeHistory,
    stopping: Option<Stopping>,
    /// Moment of the last event that came from outside.
    last_event: Moment,
}

impl Core {
    /// A node with the contents of its journal.
    pub fn new(options: CoreOptions, now: Now, book: Book, out: &mut impl Out) -> Self {
        out.timer(CoreTimer::Sweep, now.moment.plus_ms(SWEEP_MS));
        let holding = Holding::new(options.incarnation, options.first_number());
        let (policy, seed) = (options.policy, options.seed);
        let node = Node::new(options, now, book);
        let roles = Roles {
            lending: Lending::default(),
            holding,
            balance: Balance::new(node.me, policy, seed),
            backfill: Backfill::default(),
            placing: Placing::default(),
            reported: None,
            waits: Waits::default(),
            gathering: Gathering::default(),
            relaying: Relaying::default(),
            peeking: Peeking::default(),
            rooms: Rooms::default(),
            spanning: Spanning::default(),
            leading: Leading::default(),
            history: NodeHistory::default(),
            stopping: None,
            last_event: now.moment,
        };
        Self { node, roles }
    }

    /// Handles an event.
    pub fn on(&mut self, now: Now, event: CoreEvent, out: &mut impl Out) {
        let left_ms = self.node.options.ends_ms.map(|ends| ends.saturating_sub(now.unix_ms));
        self.node.processes.pool.set_left_ms(left_ms);
        let turn = &mut Turn { node: &mut self.node, now, out };
        self.roles.on(event, turn);
        self.roles.settle(turn);
    }

    /// Makes the node leave, on a request from outside.
    pub fn leave(&mut self, now: Now, at_once: bool, out: &mut impl Out) {
        let turn = &mut Turn { node: &mut self.node, now, out };
        self.roles.stop(at_once, turn);
        self.roles.settle(turn);
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
    pub fn book(&self) -> &Book {
        &self.node.book
    }
}

impl Roles {
    fn on(&mut self, event: CoreEvent, turn: &mut Turn<'_>) {
        if !matches!(event, CoreEvent::Timer(_)) {
            self.last_event = turn.now.moment;
        }
        match event {
            CoreEvent::FromClient { client, request } => self.on_client(client, request, turn),
            CoreEvent::ClientGone(client) => {
                self.waits.gone(Asker::Client(client));
                self.gathering.gone(client);
                self.relaying.gone(client, turn);
            }
            CoreEvent::FromPeer { from, message } => self.on_peer(from, message, turn),
            CoreEvent::Keeper(said) => self.on_keeper(said, turn),
            CoreEvent::KeeperAway => turn.node.processes.ready = false,
            CoreEvent::Members(members) => self.on_members(members, turn),
            CoreEvent::Measured(measurement) => {
                turn.node.options.measurement = measurement;
                turn.node.processes.pool.set_n_cores(measurement.n_cores);
                self.balance_members(turn);
            }
            CoreEvent::Timer(CoreTimer::Balance(timer)) => {
                self.balance_by(turn, |balance, now, actions| {
                    balance.on_timer(now, timer, actions);
                })
            }
            CoreEvent::Timer(CoreTimer::Sweep) => self.sweep(turn),
        }
    }

    /// Starts tasks that can be started, reports the load to the rules, and ended tasks to clients.
    fn settle(&mut self, turn: &mut Turn<'_>) {
        turn.stop_arrays();
        turn.open_gates();
        self.rooms.serve(turn);
        self.span(turn);
        self.fill(turn);
        self.place(turn);
        self.report_load(turn);
        for gather in self.gathering.take_over(turn.now.moment) {
            gather.answer(self.status(turn.node, turn.now), turn);
        }
        for (first, last) in turn.node.ended.drain(..) {
            self.waits.ended(first, last);
        }
        self.waits.flush(turn);
        let waits = &self.waits;
        turn.node.book.prune(turn.now.unix_ms, |number| waits.want(number));
    }

    fn sweep(&mut self, turn: &mut Turn<'_>) {
        turn.out.timer(CoreTimer::Sweep, turn.now.moment.plus_ms(sweep_ms(self, turn)));
        for result in self.lending.sweep(turn) {
            self.balance_offer(result, turn);
        }
        self.holding.sweep(turn);
        self.rooms.sweep(turn);
        self.leading.sweep(turn);
        self.note_history(turn);
        turn.node.book.tasks_mut().end_delays(turn.now.moment);
        self.relaying.sweep(turn);
        self.peeking.sweep(turn);
        if let Some(stopping) = &mut self.stopping {
            stopping.sweep(self.rooms.are_empty(), turn);
        }
        // The rules need a measurement now and then, even when nothing changes.
        self.reported = None;
    }

    fn on_peer(&mut self, from: NodeId, message: PeerMessage, turn: &mut Turn<'_>) {
        let Self { lending, holding, .. } = self;
        match message {
            PeerMessage::Balance(message) => self.balance_by(turn, |balance, now, actions| {
                balance.on_message(now, from, message, actions);
            }),
            PeerMessage::Offer { offer, incarnation, arounds, works, tasks } => {
                let offered = Offered { offer, arounds, works, tasks };
                self.on_offer(from, incarnation, offered, turn);
            }
            PeerMessage::Taken { offer, n_tasks, because } => {
                if let Some(result) = lending.on_taken(from, (offer, n_tasks, because), turn) {
                    self.balance_offer(result, turn);
                }
            }
            PeerMessage::Renew { number, incarnation, whole, shares } => {
                lending.on_renew(from, Renewal { number, incarnation, whole, shares }, turn);
            }
            PeerMessage::Renewed { number, gone } => {
                holding.on_renewed(from, (number, gone), turn);
            }
            PeerMessage::Returned { shares, wish, because } => {
                let n_back = lending::on_returned(from, &shares, &because, turn);
                if let Some(to) = wish.filter(|to| *to != from && *to != turn.node.me) {
                    lending.lend(to, n_back, turn);
                }
            }
            PeerMessage::Started(shares) => {
                for (share, at_ms) in shares {
                    turn.node.book.started_elsewhere(from, share, at_ms);
                    turn.node.gates.started(share.number);
                }
            }
            PeerMessage::Cancel(shares) => holding.on_cancel(from, &shares, turn),
            PeerMessage::Ended(ends) => lending::on_ended(from, ends, turn),
            PeerMessage::Acknowledged(shares) => {
                holding.on_acknowledged(from, &shares, turn);
            }
            PeerMessage::Ask { ask, request } => self.on_ask(Asker::Peer(from, ask), request, turn),
            PeerMessage::AskGone(ask) => self.waits.gone(Asker::Peer(from, ask)),
            PeerMessage::Answer { ask, answer } => self.relaying.on_answer(from, ask, answer, turn),
            PeerMessage::AskRoom { .. }
            | PeerMessage::HasRoomFor { .. }
            | PeerMessage::KeepRooms { .. }
            | PeerMessage::RoomsKept { .. }
            | PeerMessage::LeaveRooms(_) => self.on_room_message(from, message, turn),
            PeerMessage::HasRoom => {
                lending.refusals.has_room(from, turn.now.moment);
                self.placing.hurry();
            }
            PeerMessage::HowAreYou(ask) => {
                let status = Box::new(self.status(turn.node, turn.now));
                turn.out.send(from, PeerMessage::IAm { ask, status });
            }
            PeerMessage::IAm { ask, status } => self.gathering.on_i_am(from, ask, *status),
        }
    }

    /// Takes offered tasks, unless this node can take none.
    fn on_offer(&mut self, from: NodeId, incarnation: u64, offered: Offered, turn: &mut Turn<'_>) {
        let because = if incarnation != turn.node.options.incarnation || !turn.node.processes.ready
        {
            "its daemon has restarted"
        } else if self.stopping.is_some() {
            "it is being stopped"
        } else if N_RESULTS_MAX <= turn.node.book.foreign().len() {
            "too many of its results wait to be acknowledged"
        } else {
            let keeps_room = self.backfill.keeps_room(turn.node) || self.rooms.wanted().is_some();
            let Self { holding, rooms, .. } = self;
            if holding.on_offer(from, offered, (keeps_room, rooms), turn) {
                self.balance.on_received(from);
            }
            return;
        };
        let (offer, because) = (offered.offer, Some(because.to_owned()));
        turn.out.send(from, PeerMessage::Taken { offer, n_tasks: 0, because });
    }

    fn on_keeper(&mut self, said: KeeperEvent, turn: &mut Turn<'_>) {
        match said {
            KeeperEvent::Inventory { running, ended } => {
                turn.node.processes.ready = true;
                for run in running {
                    turn.node.processes.reported(&run);
                    if let Some(span) = &run.allocation.span {
                        self.leading.begin(run.attempt, span, turn.now.moment);
                    }
                    if run.attempt.task.home == turn.node.me {
                        turn.runs(run);
                    } else {
                        self.holding.adopt(run.attempt, turn.now.moment);
                    }
                }
                ended.into_iter().for_each(|ended| self.attempt_ended(ended, turn));
                turn.take_back_unknown();
                self.holding.renew_all(turn);
            }
            KeeperEvent::Peeked { peek, found } => self.peeking.found(peek, found, turn),
            KeeperEvent::Ended(ended) => {
                ended.into_iter().for_each(|ended| self.attempt_ended(ended, turn));
            }
            KeeperEvent::Gone => {
                for attempt in turn.node.processes.lost() {
                    self.leading.ended(attempt, turn);
                    if attempt.task.home == turn.node.me {
                        turn.attempt_lost(attempt);
                    } else {
                        self.holding.attempt_lost(attempt, turn);
                    }
                }
            }
        }
    }

    fn attempt_ended(&mut self, ended: EndedAttempt, turn: &mut Turn<'_>) {
        let attempt = ended.attempt;
        turn.node.processes.ended(attempt);
        self.leading.ended(attempt, turn);
        self.holding.tell_of_room(turn);
        turn.node.counts.n_ended += u64::from(ended.end.outcome().is_some());
        turn.node.note_duration(&ended);
        if attempt.task.home == turn.node.me {
            turn.attempt_ended(ended);
        } else {
            self.holding.attempt_ended(ended, turn);
        }
        turn.out.keeper(KeeperOrder::Forget(vec![attempt]));
    }

    fn on_members(&mut self, members: Vec<Member>, turn: &mut Turn<'_>) {
        let me = turn.node.me;
        let others = members.into_iter().filter(|member| member.id != me);
        let changes = turn.node.peers.replace(others);
        self.balance_members(turn);
        changes.lost.into_iter().for_each(|node| self.balance.on_lost(node));
        for node in changes.reached {
            self.balance_by(turn, |balance, now, actions| balance.on_reached(now, node, actions));
            if turn.node.processes.ready {
                self.holding.renew(node, turn);
            }
        }
        self.relaying.on_members(turn);
        self.waits.keep_heard(|node| turn.node.peers.is_heard(node));
    }

    /// Stops the node: it takes and starts nothing any more, and leaves when nothing runs. With `now`, running
    /// tasks are ended, to run again elsewhere, or here when the node comes back.
    fn stop(&mut self, now: bool, turn: &mut Turn<'_>) {
        let stopping = self.stopping.get_or_insert_with(|| Stopping::new(turn.now.moment));
        stopping.begin(now, turn);
        if now {
            self.rooms.clear(turn);
        }
        self.holding.return_all(turn);
    }
}

#[cfg(test)]
mod tests;
