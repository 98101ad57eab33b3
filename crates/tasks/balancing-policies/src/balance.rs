//! State machine of one node: takes measurements, messages and timers, and returns actions.

use crate::call_context::{CallContext, NodeContext};
use crate::domain::DomainMembers;
use crate::exchange::Exchange;
use crate::receiver_initiated::ReceiverInitiated;
use crate::rule::Initiative;
use crate::sender_initiated::SenderInitiated;
use crate::snapshot::BalanceSnapshot;
use crate::{
    DriverAction, LoadState, Members, Moment, NodeId, NodeLoad, Policy, PolicyCounters,
    PolicyMessage, Timer,
};
use std::sync::Arc;

/// Balancing of one node.
///
/// The driver owns the clock, the network and the tasks. It reports events, and does the [`DriverAction`]s that are
/// appended to `out`, in their order. Messages may be lost, doubled, late or from strangers.
#[derive(Debug)]
pub struct Balance {
    node: NodeContext,
    exchange: Box<dyn Exchange>,
}

impl Balance {
    /// A node that knows no other yet. Nodes may share a seed: their ids make them draw different numbers.
    pub fn new(me: NodeId, policy: Policy, seed: u64) -> Self {
        let numbers = policy.rule.numbers;
        let exchange: Box<dyn Exchange> = match policy.rule.spec.initiative {
            Initiative::Sender(make) => Box::new(SenderInitiated::new(make(numbers))),
            Initiative::Receiver(make) => Box::new(ReceiverInitiated::new(make(numbers))),
        };
        Self { node: NodeContext::new(me, policy, seed), exchange }
    }

    /// Sets the members of the cluster, this node among them; called again when they change.
    ///
    /// A node whose incarnation has grown is treated as new. A node that is not among its members does nothing.
    pub fn on_peers(&mut self, now: Moment, members: &Arc<Members>, out: &mut Vec<DriverAction>) {
        let before = &self.node.domain_members.members;
        let is_anew = |peer: &&crate::Peer| {
            before.peer(peer.id).is_some_and(|old| old.incarnation != peer.incarnation)
        };
        let anew: Vec<NodeId> =
            members.peers().iter().filter(is_anew).map(|peer| peer.id).collect();
        for peer in &anew {
            self.on_lost(*peer);
        }
        let domain_members =
            DomainMembers::new(self.node.policy.domain, self.node.me, Arc::clone(members));
        let before = std::mem::replace(&mut self.node.domain_members, domain_members);
        let call = &mut CallContext { node: &mut self.node, now, out };
        self.exchange.on_peers(call, &before);
        for peer in anew {
            self.on_reached(now, peer, out);
        }
    }

    /// Handles a measurement of the node's load: at regular times, and whenever a task arrives, starts, moves or ends.
    ///
    /// A driver first starts tasks, up to [`Self::n_slots`], and then measures: what is still queued waits.
    pub fn on_measurement(&mut self, now: Moment, load: NodeLoad, out: &mut Vec<DriverAction>) {
        let call = &mut CallContext { node: &mut self.node, now, out };
        self.exchange.on_measurement(call, load);
    }

    /// Handles a message. One from a node that is no member is ignored.
    pub fn on_message(
        &mut self,
        now: Moment,
        from: NodeId,
        message: PolicyMessage,
        out: &mut Vec<DriverAction>,
    ) {
        let is_member = self.node.domain_members.members.position(from).is_some();
        if !is_member || from == self.node.me {
            return;
        }
        let call = &mut CallContext { node: &mut self.node, now, out };
        match message {
            PolicyMessage::AskState { operation } => {
                let state = call.node.state;
                call.send(from, PolicyMessage::StateIs { operation, state });
            }
            PolicyMessage::Release { operation } => call.node.promises.release(from, operation),
            _ => self.exchange.on_message(call, from, message),
        }
    }

    /// Handles a timer whose moment has come.
    pub fn on_timer(&mut self, now: Moment, timer: Timer, out: &mut Vec<DriverAction>) {
        let call = &mut CallContext { node: &mut self.node, now, out };
        self.exchange.on_timer(call, timer);
    }

    /// Handles the result of a [`DriverAction::Move`]: how many of its tasks the other node took. The others are back in
    /// the queue, and in the next measurement.
    pub fn on_moved(
        &mut self,
        now: Moment,
        to: NodeId,
        (n_tasks, n_accepted): (u32, u32),
        out: &mut Vec<DriverAction>,
    ) {
        let n_back = n_tasks.saturating_sub(n_accepted);
        self.node.counts.came_back += u64::from(n_back);
        if n_back == 0 {
            return;
        }
        let call = &mut CallContext { node: &mut self.node, now, out };
        self.exchange.on_came_back(call, to);
    }

    /// Notes that tasks of another node have arrived. A measurement follows.
    pub fn on_received(&mut self, from: NodeId) {
        if !self.node.promises.keep(from) {
            self.exchange.on_early(from);
        }
    }

    /// Notes that a node cannot be reached at present: nothing is expected of it.
    pub fn on_lost(&mut self, peer: NodeId) {
        self.node.promises.forget(peer);
        self.exchange.on_lost(peer);
    }

    /// Notes that a node can be reached, for the first time or again, and tells it what it may have missed.
    pub fn on_reached(&mut self, now: Moment, peer: NodeId, out: &mut Vec<DriverAction>) {
        let call = &mut CallContext { node: &mut self.node, now, out };
        self.exchange.on_reached(call, peer);
    }

    /// Number of tasks that the node should run at once: the driver starts queued tasks as long as fewer run.
    pub fn n_slots(&self) -> u32 {
        self.node.n_slots()
    }

    /// Number of own tasks that the driver leaves in the queue although a core is free: faster nodes, which come
    /// for tasks regularly, end them sooner. The driver may ask again at any time, and must do so after some
    /// seconds.
    pub fn n_kept(&self, now: Moment) -> u32 {
        self.exchange.n_kept(&self.node, now)
    }

    /// State of the node as other nodes see it.
    pub fn state(&self) -> LoadState {
        self.node.state
    }

    /// Costs and results so far.
    pub fn counts(&self) -> PolicyCounters {
        self.node.counts
    }

    /// Policy of the node.
    pub fn policy(&self) -> Policy {
        self.node.policy
    }

    /// Snapshot of the node's state, for explanations to users.
    pub fn snapshot(&self, now: Moment) -> BalanceSnapshot {
        let ((known, n_known), (offers, n_offers)) =
            (self.exchange.known(), self.exchange.offers());
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        BalanceSnapshot {
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
            operation: self.exchange.under_way(),
            last: self.node.last,
            counts: self.node.counts,
        }
    }
}
