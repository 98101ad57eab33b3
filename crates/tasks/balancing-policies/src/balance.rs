//! State machine of one node: takes measurements, messages and timers, and returns actions.

use crate::asking::{Asking, Request};
use crate::domain::Circle;
use crate::operation::Accepted;
use crate::pulling::{Grant, Pulling};
use crate::turn::{Node, Turn};
use crate::{Action, Counts, LoadState, Members, Message, Moment, NodeId, NodeLoad, Policy, Timer};
use crate::{rule::Initiative, standing::Standing};
use std::sync::Arc;

/// Balancing of one node.
///
/// The driver owns the clock, the network and the tasks. It reports events, and does the [`Action`]s that are
/// appended to `out`, in their order. Messages may be lost, doubled, late or from strangers.
#[derive(Debug)]
pub struct Balance {
    node: Node,
    side: Side,
}

/// Side that begins an exchange: the node with tasks or the node with room.
#[derive(Debug)]
enum Side {
    Asking(Asking),
    Pulling(Pulling),
}

impl Balance {
    /// A node that knows no other yet. Nodes may share a seed: their ids make them draw different numbers.
    pub fn new(me: NodeId, policy: Policy, seed: u64) -> Self {
        let numbers = policy.rule.numbers();
        let side = match policy.rule.initiative() {
            Initiative::Sender(make) => Side::Asking(Asking::new(make(numbers))),
            Initiative::Receiver(make) => Side::Pulling(Pulling::new(make(numbers))),
        };
        Self { node: Node::new(me, policy, seed), side }
    }

    /// Sets the members of the cluster, this node among them; called again when they change.
    ///
    /// A node whose incarnation has grown is treated as new. A node that is not among its members does nothing.
    pub fn on_peers(&mut self, now: Moment, members: &Arc<Members>, out: &mut Vec<Action>) {
        let before = self.node.circle.members();
        let is_anew = |peer: &&crate::Peer| {
            before.peer(peer.id).is_some_and(|old| old.incarnation != peer.incarnation)
        };
        let anew: Vec<NodeId> =
            members.peers().iter().filter(is_anew).map(|peer| peer.id).collect();
        for peer in &anew {
            self.on_lost(*peer);
        }
        let circle = Circle::new(self.node.policy.domain, self.node.me, Arc::clone(members));
        let before = std::mem::replace(&mut self.node.circle, circle);
        let turn = &mut Turn { node: &mut self.node, now, out };
        match &mut self.side {
            Side::Asking(asking) => asking.on_peers(turn, &before),
            Side::Pulling(pulling) => pulling.on_peers(turn),
        }
        for peer in anew {
            self.on_reached(now, peer, out);
        }
    }

    /// Handles a measurement of the node's load: at regular times, and whenever a task arrives, starts, moves or ends.
    ///
    /// A driver first starts tasks, up to [`Self::n_slots`], and then measures: what is still queued waits.
    pub fn on_measurement(&mut self, now: Moment, load: NodeLoad, out: &mut Vec<Action>) {
        let turn = &mut Turn { node: &mut self.node, now, out };
        match &mut self.side {
            Side::Asking(asking) => asking.on_measurement(turn, load),
            Side::Pulling(pulling) => pulling.on_measurement(turn, load),
        }
    }

    /// Handles a message. One from a node that is no member is ignored.
    pub fn on_message(
        &mut self,
        now: Moment,
        from: NodeId,
        message: Message,
        out: &mut Vec<Action>,
    ) {
        let is_member = self.node.circle.members().position(from).is_some();
        if !is_member || from == self.node.me {
            return;
        }
        let turn = &mut Turn { node: &mut self.node, now, out };
        match message {
            Message::AskState { operation } => {
                let state = turn.node.state;
                turn.send(from, Message::StateIs { operation, state });
            }
            Message::Release { operation } => turn.node.promises.release(from, operation),
            _ => match &mut self.side {
                Side::Asking(asking) => tell_asking(asking, turn, from, message),
                Side::Pulling(pulling) => tell_pulling(pulling, turn, from, message),
            },
        }
    }

    /// Handles a timer whose moment has come.
    pub fn on_timer(&mut self, now: Moment, timer: Timer, out: &mut Vec<Action>) {
        let turn = &mut Turn { node: &mut self.node, now, out };
        match &mut self.side {
            Side::Asking(asking) => asking.on_timer(turn, timer.kind, timer.number),
            Side::Pulling(pulling) => pulling.on_timer(turn, timer.kind, timer.number),
        }
    }

    /// Handles the result of an [`Action::Move`]: how many of its tasks the other node took. The others are back in
    /// the queue, and in the next measurement.
    pub fn on_moved(
        &mut self,
        now: Moment,
        to: NodeId,
        (n_tasks, n_accepted): (u32, u32),
        out: &mut Vec<Action>,
    ) {
        let n_back = n_tasks.saturating_sub(n_accepted);
        self.node.counts.came_back += u64::from(n_back);
        if n_back == 0 {
            return;
        }
        let turn = &mut Turn { node: &mut self.node, now, out };
        match &mut self.side {
            Side::Asking(asking) => asking.on_lost(to),
            Side::Pulling(pulling) => pulling.on_came_back(turn, to),
        }
    }

    /// Notes that tasks of another node have arrived. A measurement follows.
    pub fn on_received(&mut self, from: NodeId) {
        let was_promised = self.node.promises.keep(from);
        if let (false, Side::Pulling(pulling)) = (was_promised, &mut self.side) {
            pulling.on_early(from);
        }
    }

    /// Notes that a node cannot be reached at present: nothing is expected of it.
    pub fn on_lost(&mut self, peer: NodeId) {
        self.node.promises.forget(peer);
        match &mut self.side {
            Side::Asking(asking) => asking.on_lost(peer),
            Side::Pulling(pulling) => pulling.on_lost(peer),
        }
    }

    /// Notes that a node can be reached, for the first time or again, and tells it what it may have missed.
    pub fn on_reached(&mut self, now: Moment, peer: NodeId, out: &mut Vec<Action>) {
        let turn = &mut Turn { node: &mut self.node, now, out };
        match &mut self.side {
            Side::Asking(asking) => asking.on_reached(turn, peer),
            Side::Pulling(pulling) => pulling.on_reached(turn, peer),
        }
    }

    /// Number of tasks that the node should run at once: the driver starts queued tasks as long as fewer run.
    pub fn n_slots(&self) -> u32 {
        self.node.n_slots()
    }

    /// Number of own tasks that the driver leaves in the queue although a core is free: faster nodes, which come
    /// for tasks regularly, end them sooner. The driver may ask again at any time, and must do so after some
    /// seconds.
    pub fn n_kept(&self, now: Moment) -> u32 {
        match &self.side {
            Side::Asking(_) => 0,
            Side::Pulling(pulling) => pulling.n_kept(&self.node, now),
        }
    }

    /// State of the node as other nodes see it.
    pub fn state(&self) -> LoadState {
        self.node.state
    }

    /// Costs and results so far.
    pub fn counts(&self) -> Counts {
        self.node.counts
    }

    /// Policy of the node.
    pub fn policy(&self) -> Policy {
        self.node.policy
    }

    /// Snapshot of the node's state, for explanations to users.
    pub fn standing(&self, now: Moment) -> Standing {
        let ((known, n_known), (offers, n_offers), operation) = match &self.side {
            Side::Asking(asking) => (asking.known(), (Vec::new(), 0), asking.under_way()),
            Side::Pulling(pulling) => (pulling.known(), pulling.offers(), pulling.under_way()),
        };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Standing {
            policy: self.node.policy.to_string(),
            state: self.node.state,
            index: Some(self.node.index()).filter(|index| index.is_finite()),
            n_queued: self.node.load.n_queued,
            n_slots: self.n_slots(),
            n_room: self.node.clone().n_room(now),
            known,
            n_known: count(n_known),
            offers,
            n_offers: count(n_offers),
            operation,
            last: self.node.last,
            counts: self.node.counts,
        }
    }
}

fn tell_asking(asking: &mut Asking, turn: &mut Turn<'_>, from: NodeId, message: Message) {
    match message {
        Message::State { new, old } => asking.on_state(turn, from, (new, old)),
        Message::StateIs { operation, state } => asking.on_state_is(turn, from, (operation, state)),
        Message::Request { operation, n_tasks, origin, n_hops } => {
            asking.on_request(turn, from, Request { operation, n_tasks, origin, n_hops });
        }
        Message::Accept { operation, n_tasks_max, load_permille } => {
            let n_tasks_max = n_tasks_max.into();
            asking.on_accept(turn, operation, Accepted { node: from, n_tasks_max, load_permille });
        }
        Message::Reject { operation } => asking.on_reject(turn, operation),
        Message::Pull { operation, .. } => turn.send(from, Message::Nothing { operation }),
        _ => {}
    }
}

fn tell_pulling(pulling: &mut Pulling, turn: &mut Turn<'_>, from: NodeId, message: Message) {
    match message {
        Message::Subscribe { n_queued } => pulling.on_subscribe(turn, from, n_queued),
        Message::Probe => pulling.on_probe(turn, from),
        Message::Pull { operation, n_tasks_max } => {
            pulling.on_pull(turn, from, (operation, n_tasks_max));
        }
        Message::Grant { operation, n_tasks, n_left } => {
            pulling.on_grant(turn, from, Grant { operation, n_tasks, n_left });
        }
        Message::Nothing { operation } => pulling.on_nothing(turn, from, operation),
        Message::Request { operation, origin, .. } => {
            turn.send(origin, Message::Reject { operation });
        }
        _ => {}
    }
}
