//! `subscription`: a node that becomes a sender tells other nodes once; they fetch tasks whenever they have room.
//!
//! A node that was told stays *subscribed*: as long as it finds tasks it needs no further message. When it finds
//! none, or fewer than it has room for, both sides forget the subscription. So a full queue costs one message for
//! each task, the one that fetches it, and an idle cluster costs none.
//!
//! A node that has run out of offers asks a few others at random (`asks`): they give what waits there, or name
//! the best offer that they know.
//!
//! Nodes are told in waves: first as many nodes as tasks wait, then twice as many every 50 ms, until the tasks are
//! gone. At most 32 of the nodes told may not have come yet: where all are busy, telling more would
//! not help. After 5 s these are considered busy, and others are told; as long as no node comes, waves become
//! rarer. A node that was told and never comes (the message was lost, or its program restarted) is told again after
//! 30 s, then after twice as long each time.
//!
//! # Invariants
//! - No node of a domain remains untold forever while tasks wait.
//! - Messages that are lost, doubled or late cost time, never a task.

use crate::asks::Asks;
use crate::call_context::CallContext;
use crate::offers::{Offers, give_up};
use crate::receiver_initiated::{Granted, ReceiverRule, Visit};
use crate::repeat_visitors::RepeatVisitors;
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::snapshot::N_NAMED_MAX;
use crate::subscribers::Subscribers;
use crate::{Members, Moment, NodeId};

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "subscription",
    form: "subscription",
    example: "subscription",
    sentence: "a node with too many tasks tells others once; they fetch tasks whenever they have room",
    is_of_source: false,
    parameters: Parameters::None,
    initiative: Initiative::Receiver(|_| Box::<Subscription>::default()),
};

#[derive(Debug, Default)]
struct Subscription {
    subscribers: Subscribers,
    repeat_visitors: RepeatVisitors,
    offers: Offers,
    asks: Asks,
    /// Whether the last source was drawn at random.
    is_asked: bool,
}

impl ReceiverRule for Subscription {
    fn on_peers(&mut self, members: &Members) {
        self.subscribers.retain(|node| members.position(node).is_some());
        self.offers.retain(|node| members.position(node).is_some());
    }

    fn on_queued(&mut self, now: Moment) {
        self.repeat_visitors.queued(now);
        self.subscribers.release();
    }

    fn on_wave(&mut self, call: &mut CallContext<'_>, number: u32) {
        self.subscribers.on_wave(call, number);
    }

    fn on_subscribe(&mut self, call: &mut CallContext<'_>, from: NodeId, n_queued: u32) -> bool {
        give_up(call, self.offers.set(call.now, from, n_queued));
        true
    }

    fn on_leave(&mut self, now: Moment, node: NodeId) {
        self.subscribers.leave(now, node);
    }

    fn n_kept_from(&self, now: Moment, speed: f64, members: &Members) -> u32 {
        self.repeat_visitors.n_kept_from(now, speed, members)
    }

    fn on_visit(&mut self, call: &mut CallContext<'_>, node: NodeId, visit: Visit) {
        if visit.n_asked <= visit.n_given {
            self.repeat_visitors.came(call.now, node, &call.node.domain_members.members);
            self.subscribers.has_come(call.now, node);
            return;
        }
        self.repeat_visitors.forget(node);
        if visit.n_given < visit.n_queued {
            self.subscribers.hold(call.now, node);
            self.subscribers.notify(call);
        } else {
            self.subscribers.forget(node);
        }
    }

    fn on_granted(&mut self, call: &mut CallContext<'_>, from: NodeId, granted: Granted) {
        self.asks.served();
        if granted.n_tasks < granted.n_asked {
            self.offers.remove(from);
        } else {
            give_up(call, self.offers.set(call.now, from, granted.n_left));
        }
    }

    fn on_nothing(&mut self, from: NodeId) {
        self.offers.remove(from);
    }

    fn on_room(&mut self, n_nodes: usize) {
        self.asks.begin(n_nodes);
    }

    fn hint(&mut self, call: &mut CallContext<'_>, for_node: NodeId) -> Option<(NodeId, u32)> {
        self.offers.most(call.now, for_node)
    }

    fn on_hint(&mut self, call: &mut CallContext<'_>, node: NodeId, n_queued: u32) {
        // Where an offer came to nothing, hints would send the node from one empty queue to the next.
        if self.is_asked {
            give_up(call, self.offers.set(call.now, node, n_queued));
        }
    }

    fn rest(&mut self, now: Moment) -> Option<Moment> {
        if self.offers.is_empty() { self.asks.rest(now) } else { None }
    }

    fn on_silence(&mut self, from: NodeId) {
        self.offers.silent(from);
    }

    fn on_lost(&mut self, peer: NodeId) {
        self.subscribers.forget(peer);
        self.repeat_visitors.forget(peer);
        self.offers.remove(peer);
    }

    fn on_missed(&mut self, peer: NodeId) {
        self.subscribers.forget(peer);
    }

    fn announce(&mut self, call: &mut CallContext<'_>) {
        self.subscribers.notify(call);
    }

    fn source(&mut self, call: &mut CallContext<'_>) -> Option<NodeId> {
        let best = self.offers.best(&mut call.node.random);
        self.is_asked = best.is_none() && self.asks.is_due(call.now);
        if self.is_asked { call.node.domain_members.pick(&mut call.node.random) } else { best }
    }

    fn known(&self) -> (Vec<NodeId>, usize) {
        (self.subscribers.nodes().take(N_NAMED_MAX).collect(), self.subscribers.len())
    }

    fn offers(&self) -> (Vec<NodeId>, usize) {
        (self.offers.nodes().take(N_NAMED_MAX).collect(), self.offers.len())
    }
}
