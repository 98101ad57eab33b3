//! Rules by which nodes with room fetch tasks.
//!
//! A node with room pulls from one node at a time, as many tasks as it has room for; tasks are bound to a node when
//! there is room for them, never earlier. The rules differ in how the node learns where to pull from, one file for
//! each.
//!
//! # Invariants
//! - At most one pull is open at a time, and it ends at its time limit at the latest.

use crate::action::TimerKind;
use crate::call_context::{CallContext, NodeContext};
use crate::domain::DomainMembers;
use crate::exchange::Exchange;
use crate::round_trip::RoundTrip;
use crate::snapshot::{OngoingOperation, OperationOutcome};
use crate::{LoadState, Members, Moment, NodeId, NodeLoad, PolicyMessage, Timer};
use std::fmt;

/// Receiver-initiated rule: how a node with room learns where tasks wait.
pub(crate) trait ReceiverRule: fmt::Debug + Send + Sync {
    /// Applies a change of members.
    fn on_peers(&mut self, _members: &Members) {}

    /// More tasks wait here than before.
    fn on_queued(&mut self, _now: Moment) {}

    /// The node, one of this many, has become a receiver.
    fn on_room(&mut self, _n_nodes: usize) {}

    /// A timer of the rule has expired.
    fn on_wave(&mut self, _turn: &mut CallContext<'_>, _number: u32) {}

    /// Takes an announcement of waiting tasks; returns whether it is of use.
    fn on_subscribe(&mut self, _turn: &mut CallContext<'_>, _from: NodeId, _n_queued: u32) -> bool {
        false
    }

    /// Takes a probe; returns whether it is of use.
    fn on_probe(&mut self, _turn: &mut CallContext<'_>, _from: NodeId) -> bool {
        false
    }

    /// A node has dropped the offer of this one.
    fn on_leave(&mut self, _now: Moment, _node: NodeId) {}

    /// Most tasks that a node which asks for `n_asked` is given.
    fn n_given_max(&self, _n_queued: u32, n_asked: u32) -> u32 {
        n_asked
    }

    /// Number of waiting tasks that a node of this speed must leave to faster nodes.
    fn n_kept_from(&self, _now: Moment, _speed: f64, _members: &Members) -> u32 {
        0
    }

    /// A node has come for tasks.
    fn on_visit(&mut self, _turn: &mut CallContext<'_>, _node: NodeId, _visit: Visit) {}

    /// Tasks were granted to this node.
    fn on_granted(&mut self, _turn: &mut CallContext<'_>, _from: NodeId, _granted: Granted) {}

    /// No tasks were granted to this node.
    fn on_nothing(&mut self, _from: NodeId) {}

    /// Returns a node at which tasks wait, and how many, for a node that found none here.
    fn hint(&mut self, _turn: &mut CallContext<'_>, _for_node: NodeId) -> Option<(NodeId, u32)> {
        None
    }

    /// Takes the hint that tasks wait at a node.
    fn on_hint(&mut self, _turn: &mut CallContext<'_>, _node: NodeId, _n_queued: u32) {}

    /// A node did not answer in time.
    fn on_silence(&mut self, _from: NodeId) {}

    /// A node cannot be reached.
    fn on_lost(&mut self, _peer: NodeId) {}

    /// A node may have missed what it was told, or did not take what it was given.
    fn on_missed(&mut self, _peer: NodeId) {}

    /// Announces waiting tasks, if there are any.
    fn announce(&mut self, _turn: &mut CallContext<'_>) {}

    /// Returns the node to pull from, if there is one.
    fn source(&mut self, call: &mut CallContext<'_>) -> Option<NodeId>;

    /// Number of tasks to pull when there is room for `n_room`.
    fn n_wanted(&self, n_room: u32) -> u16 {
        u16::try_from(n_room).unwrap_or(u16::MAX)
    }

    /// Begins a pause after an empty answer or none; returns its end, or nothing where the next source is tried at once.
    fn rest(&mut self, _now: Moment) -> Option<Moment> {
        None
    }

    /// Some of the nodes that were told of tasks here, and how many there are.
    fn known(&self) -> (Vec<NodeId>, usize) {
        (Vec::new(), 0)
    }

    /// Some of the nodes that announced tasks, and how many there are.
    fn offers(&self) -> (Vec<NodeId>, usize) {
        (Vec::new(), 0)
    }
}

/// Tasks that a node came for, before they are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) n_queued: u32,
    pub(crate) n_asked: u32,
    pub(crate) n_given: u32,
}

/// Answer to a pull of this node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) n_asked: u16,
    pub(crate) n_tasks: u16,
    pub(crate) n_left: u32,
}

/// State of a node that fetches tasks and lets other nodes fetch its own.
#[derive(Debug)]
pub(crate) struct ReceiverInitiated {
    rule: Box<dyn ReceiverRule>,
    open: Option<Pull>,
    round_trip: RoundTrip,
    /// Number of the timer that ends a pause.
    resume: u32,
    resumes_at: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Pull {
    number: u32,
    from: NodeId,
    n_tasks_max: u16,
    began: Moment,
    /// True if its tasks arrived before its grant.
    is_here: bool,
}

impl ReceiverInitiated {
    pub(crate) fn new(rule: Box<dyn ReceiverRule>) -> Self {
        let round_trip = RoundTrip::default();
        Self { rule, open: None, round_trip, resume: 0, resumes_at: Moment::default() }
    }

    /// Grants waiting tasks, or answers that there are none.
    fn on_pull(&mut self, call: &mut CallContext<'_>, from: NodeId, pull: (u32, u16)) {
        let (operation, n_tasks_max) = pull;
        if n_tasks_max == 0 {
            return self.rule.on_leave(call.now, from);
        }
        let n_queued = call.node.load.n_queued;
        let n_asked = self.rule.n_given_max(n_queued, n_tasks_max.into());
        let n_kept = self.n_kept_from(call, from);
        let n_given = n_queued.saturating_sub(n_kept).min(n_asked);
        if let (1.., Ok(n_tasks)) = (n_given, u16::try_from(n_given)) {
            call.send(
                from,
                PolicyMessage::Grant { operation, n_tasks, n_left: n_queued - n_given },
            );
            call.give(from, n_given);
            call.ended(OperationOutcome::Moved { n_tasks: n_given });
        } else {
            let answer = match self.rule.hint(call, from) {
                Some((node, n_queued)) => PolicyMessage::Elsewhere { operation, node, n_queued },
                None => PolicyMessage::Nothing { operation },
            };
            call.send(from, answer);
        }
        self.rule.on_visit(call, from, Visit { n_queued, n_asked, n_given });
    }

    /// Number of waiting tasks that `node` must leave to faster nodes.
    fn n_kept_from(&self, call: &CallContext<'_>, node: NodeId) -> u32 {
        let members = &call.node.domain_members.members;
        let speed = members.peer(node).map_or(1.0, |peer| peer.speed);
        self.rule.n_kept_from(call.now, speed, members)
    }

    fn on_grant(
        &mut self,
        call: &mut CallContext<'_>,
        from: NodeId,
        (operation, n_tasks, n_left): (u32, u16, u32),
    ) {
        let pull = self.take(call.now, from, operation);
        if pull.is_none_or(|pull| !pull.is_here) {
            call.node.promises.promise(call.now, from, operation, n_tasks.into());
        }
        let Some(pull) = pull else { return };
        call.node.counts.accepted += 1;
        call.ended(OperationOutcome::Moved { n_tasks: n_tasks.into() });
        let n_asked = pull.n_tasks_max;
        self.rule.on_granted(call, from, Granted { n_asked, n_tasks, n_left });
        self.pull(call);
    }

    /// Ends a pull that came to nothing; `hint` is a node at which tasks wait, and how many.
    fn on_nothing(
        &mut self,
        call: &mut CallContext<'_>,
        from: NodeId,
        operation: u32,
        hint: Option<(NodeId, u32)>,
    ) {
        if self.take(call.now, from, operation).is_none() {
            return;
        }
        call.node.counts.not_accepted += 1;
        call.ended(OperationOutcome::NothingThere);
        self.rule.on_nothing(from);
        let hint = hint.filter(|(node, _)| call.node.domain_members.reaches(*node));
        if let Some((node, n_queued)) = hint {
            self.rule.on_hint(call, node, n_queued);
        }
        self.rest(call);
    }

    fn go_on(&mut self, call: &mut CallContext<'_>) {
        self.rule.announce(call);
        self.pull(call);
    }

    fn pull(&mut self, call: &mut CallContext<'_>) {
        if self.open.is_some() {
            return;
        }
        let n_room = call.node.n_room(call.now);
        if n_room == 0 {
            // Promised tasks may fail to come: then there is room without any further event, so a timer is needed.
            if let (LoadState::Receiver, Some(at)) =
                (call.node.state, call.node.promises.next_end())
            {
                self.resume_at(call, at);
            }
            return;
        }
        let Some(from) = self.rule.source(call) else { return };
        let n_tasks_max = self.rule.n_wanted(n_room);
        let (number, began) = (call.node.next_operation(), call.now);
        call.send(from, PolicyMessage::Pull { operation: number, n_tasks_max });
        call.timer(TimerKind::Pull, number, began.plus_ms(self.round_trip.patience_ms()));
        self.open = Some(Pull { number, from, n_tasks_max, began, is_here: false });
    }

    /// Takes the open pull that this is the answer to, if there is one.
    fn take(&mut self, now: Moment, from: NodeId, operation: u32) -> Option<Pull> {
        let pull = self.open.take_if(|pull| pull.from == from && pull.number == operation);
        match pull {
            Some(pull) => self.round_trip.answered(now, pull.began),
            None => self.round_trip.late(now, from, operation),
        }
        pull
    }

    fn end_unanswered(&mut self, call: &mut CallContext<'_>, pull: Pull) {
        self.open = None;
        self.round_trip.unanswered(pull.from, pull.number, pull.began);
        call.node.counts.not_accepted += 1;
        call.ended(OperationOutcome::NoAnswer { n_asked: 1 });
        self.rule.on_silence(pull.from);
        self.rest(call);
    }

    fn rest(&mut self, call: &mut CallContext<'_>) {
        match self.rule.rest(call.now) {
            Some(at) => self.resume_at(call, at),
            None => self.pull(call),
        }
    }

    fn resume_at(&mut self, call: &mut CallContext<'_>, at: Moment) {
        if self.resumes_at <= call.now || at < self.resumes_at {
            (self.resume, self.resumes_at) = (call.node.next_operation(), at);
            call.timer(TimerKind::Pull, self.resume, at);
        }
    }
}

impl Exchange for ReceiverInitiated {
    fn on_peers(&mut self, call: &mut CallContext<'_>, _before: &DomainMembers) {
        self.rule.on_peers(&call.node.domain_members.members);
        self.go_on(call);
    }

    fn on_measurement(&mut self, call: &mut CallContext<'_>, load: NodeLoad) {
        if call.node.load.n_queued < load.n_queued {
            self.rule.on_queued(call.now);
        }
        if call.node.measure(load) && call.node.state == LoadState::Receiver {
            self.rule.on_room(call.node.domain_members.len());
        }
        self.go_on(call);
    }

    fn on_message(&mut self, call: &mut CallContext<'_>, from: NodeId, message: PolicyMessage) {
        match message {
            PolicyMessage::Subscribe { n_queued }
                if self.rule.on_subscribe(call, from, n_queued) =>
            {
                self.pull(call);
            }
            PolicyMessage::Probe if self.rule.on_probe(call, from) => self.pull(call),
            PolicyMessage::Pull { operation, n_tasks_max } => {
                self.on_pull(call, from, (operation, n_tasks_max));
            }
            PolicyMessage::Grant { operation, n_tasks, n_left } => {
                self.on_grant(call, from, (operation, n_tasks, n_left));
            }
            PolicyMessage::Nothing { operation } => self.on_nothing(call, from, operation, None),
            PolicyMessage::Elsewhere { operation, node, n_queued } => {
                self.on_nothing(call, from, operation, Some((node, n_queued)));
            }
            PolicyMessage::Request { operation, origin, .. } => {
                call.send(origin, PolicyMessage::Reject { operation });
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, call: &mut CallContext<'_>, timer: Timer) {
        match (timer.kind, self.open) {
            (TimerKind::Wave, _) => self.rule.on_wave(call, timer.number),
            (TimerKind::Pull, Some(pull)) if pull.number == timer.number => {
                self.end_unanswered(call, pull);
            }
            (TimerKind::Pull, None) if self.resume == timer.number => self.pull(call),
            _ => {}
        }
    }

    /// Notes tasks that arrived before their grant.
    fn on_early(&mut self, from: NodeId) {
        for pull in self.open.iter_mut().filter(|pull| pull.from == from) {
            pull.is_here = true;
        }
    }

    fn on_lost(&mut self, peer: NodeId) {
        self.rule.on_lost(peer);
    }

    /// Announces waiting tasks again, since a node that was silent may have missed the announcement.
    fn on_reached(&mut self, call: &mut CallContext<'_>, peer: NodeId) {
        self.rule.on_missed(peer);
        self.go_on(call);
    }

    /// Announces tasks that did not arrive at `from` again: a node that did not take them fetches them when it has
    /// room.
    fn on_came_back(&mut self, call: &mut CallContext<'_>, from: NodeId) {
        self.rule.on_missed(from);
        self.go_on(call);
    }

    /// Number of waiting tasks that the node itself must leave to faster nodes.
    fn n_kept(&self, node: &NodeContext, now: Moment) -> u32 {
        self.rule.n_kept_from(now, node.load.speed, &node.domain_members.members)
    }

    fn known(&self) -> (Vec<NodeId>, usize) {
        self.rule.known()
    }

    fn offers(&self) -> (Vec<NodeId>, usize) {
        self.rule.offers()
    }

    fn under_way(&self) -> Option<OngoingOperation> {
        self.open.map(|pull| OngoingOperation { since: pull.began, n_asked: 1, n_open: 1 })
    }
}
