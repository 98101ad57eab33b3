//! State machine of one node: takes measurements, messages and timers, and returns actions.

use crate::call_context::{CallContext, NodeContext};
use crate::domain::DomainMembers;
use crate::operation::Accepted;
use crate::receiver_initiated::{Grant, ReceiverInitiated};
use crate::sender_initiated::{PendingRequest, SenderInitiated};
use crate::{
    DriverAction, LoadState, Members, Moment, NodeId, NodeLoad, Policy, PolicyCounters,
    PolicyMessage, Timer,
};
use crate::{rule::Initiative, snapshot::BalanceSnapshot};
use std::sync::Arc;

/// Balancing of one node.
///
/// The driver owns the clock, the network and the tasks. It reports events, and does the [`DriverAction`]s that are
/// appended to `out`, in their order. Messages may be lost, doubled, late or from strangers.
#[derive(Debug)]
pub struct Balance {
    node: NodeContext,
    exchange: Exchange,
}

/// Side that begins an exchange: the node with tasks or the node with room.
#[derive(Debug)]
enum Exchange {
    SenderInitiated(SenderInitiated),
    ReceiverInitiated(ReceiverInitiated),
}

impl Balance {
    /// A node that knows no other yet. Nodes may share a seed: their ids make them draw different numbers.
    pub fn new(me: NodeId, policy: Policy, seed: u64) -> Self {
        let numbers = policy.rule.numbers;
        let exchange = match policy.rule.spec.initiative {
            Initiative::Sender(make) => {
                Exchange::SenderInitiated(SenderInitiated::new(make(numbers)))
            }
            Initiative::Receiver(make) => {
                Exchange::ReceiverInitiated(ReceiverInitiated::new(make(numbers)))
            }
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
        match &mut self.exchange {
            Exchange::SenderInitiated(rule) => rule.on_peers(call, &before),
            Exchange::ReceiverInitiated(rule) => rule.on_peers(call),
        }
        for peer in anew {
            self.on_reached(now, peer, out);
        }
    }

    /// Handles a measurement of the node's load: at regular times, and whenever a task arrives, starts, moves or ends.
    ///
    /// A driver first starts tasks, up to [`Self::n_slots`], and then measures: what is still queued waits.
    pub fn on_measurement(&mut self, now: Moment, load: NodeLoad, out: &mut Vec<DriverAction>) {
        let call = &mut CallContext { node: &mut self.node, now, out };
        match &mut self.exchange {
            Exchange::SenderInitiated(rule) => rule.on_measurement(call, load),
            Exchange::ReceiverInitiated(rule) => rule.on_measurement(call, load),
        }
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
            _ => match &mut self.exchange {
                Exchange::SenderInitiated(rule) => {
                    pass_to_sender_initiated(rule, call, from, message);
                }
                Exchange::ReceiverInitiated(rule) => {
                    pass_to_receiver_initiated(rule, call, from, message);
                }
            },
        }
    }

    /// Handles a timer whose moment has come.
    pub fn on_timer(&mut self, now: Moment, timer: Timer, out: &mut Vec<DriverAction>) {
        let call = &mut CallContext { node: &mut self.node, now, out };
        match &mut self.exchange {
            Exchange::SenderInitiated(rule) => rule.on_timer(call, timer.kind, timer.number),
            Exchange::ReceiverInitiated(rule) => rule.on_timer(call, timer.kind, timer.number),
        }
    }

    /// Handles the result of an [`DriverAction::Move`]: how many of its tasks the other node took. The others are back in
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
        match &mut self.exchange {
            Exchange::SenderInitiated(rule) => rule.on_lost(to),
            Exchange::ReceiverInitiated(rule) => rule.on_came_back(call, to),
        }
    }

    /// Notes that tasks of another node have arrived. A measurement follows.
    pub fn on_received(&mut self, from: NodeId) {
        let was_promised = self.node.promises.keep(from);
        if let (false, Exchange::ReceiverInitiated(rule)) = (was_promised, &mut self.exchange) {
            rule.on_early(from);
        }
    }

    /// Notes that a node cannot be reached at present: nothing is expected of it.
    pub fn on_lost(&mut self, peer: NodeId) {
        self.node.promises.forget(peer);
        match &mut self.exchange {
            Exchange::SenderInitiated(rule) => rule.on_lost(peer),
            Exchange::ReceiverInitiated(rule) => rule.on_lost(peer),
        }
    }

    /// Notes that a node can be reached, for the first time or again, and tells it what it may have missed.
    pub fn on_reached(&mut self, now: Moment, peer: NodeId, out: &mut Vec<DriverAction>) {
        let call = &mut CallContext { node: &mut self.node, now, out };
        match &mut self.exchange {
            Exchange::SenderInitiated(rule) => rule.on_reached(call, peer),
            Exchange::ReceiverInitiated(rule) => rule.on_reached(call, peer),
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
        match &self.exchange {
            Exchange::SenderInitiated(_) => 0,
            Exchange::ReceiverInitiated(rule) => rule.n_kept(&self.node, now),
        }
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
        let ((known, n_known), (offers, n_offers), operation) = match &self.exchange {
            Exchange::SenderInitiated(rule) => (rule.known(), (Vec::new(), 0), rule.under_way()),
            Exchange::ReceiverInitiated(rule) => (rule.known(), rule.offers(), rule.under_way()),
        };
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
            operation,
            last: self.node.last,
            counts: self.node.counts,
        }
    }
}

fn pass_to_sender_initiated(
    rule: &mut SenderInitiated,
    call: &mut CallContext<'_>,
    from: NodeId,
    message: PolicyMessage,
) {
    match message {
        PolicyMessage::State { new, old } => rule.on_state(call, from, (new, old)),
        PolicyMessage::StateIs { operation, state } => {
            rule.on_state_is(call, from, (operation, state))
        }
        PolicyMessage::Request { operation, n_tasks, origin, n_hops } => {
            rule.on_request(call, from, PendingRequest { operation, n_tasks, origin, n_hops });
        }
        PolicyMessage::Accept { operation, n_tasks_max, load_permille } => {
            let n_tasks_max = n_tasks_max.into();
            rule.on_accept(call, operation, Accepted { node: from, n_tasks_max, load_permille });
        }
        PolicyMessage::Reject { operation } => rule.on_reject(call, operation),
        PolicyMessage::Pull { operation, .. } => {
            call.send(from, PolicyMessage::Nothing { operation })
        }
        _ => {}
    }
}

fn pass_to_receiver_initiated(
    rule: &mut ReceiverInitiated,
    call: &mut CallContext<'_>,
    from: NodeId,
    message: PolicyMessage,
) {
    match message {
        PolicyMessage::Subscribe { n_queued } => rule.on_subscribe(call, from, n_queued),
        PolicyMessage::Probe => rule.on_probe(call, from),
        PolicyMessage::Pull { operation, n_tasks_max } => {
            rule.on_pull(call, from, (operation, n_tasks_max));
        }
        PolicyMessage::Grant { operation, n_tasks, n_left } => {
            rule.on_grant(call, from, Grant { operation, n_tasks, n_left });
        }
        PolicyMessage::Nothing { operation } => rule.on_nothing(call, from, operation),
        PolicyMessage::Request { operation, origin, .. } => {
            call.send(origin, PolicyMessage::Reject { operation });
        }
        _ => {}
    }
}
