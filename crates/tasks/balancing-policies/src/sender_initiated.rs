//! Rules by which nodes with too many tasks ask other nodes to take some: those of the source, and two that extend
//! them.
//!
//! A node that is a sender and has tasks begins an operation. It asks up to three nodes of its list of receivers,
//! waits for their answers, and gives tasks to the least loaded until that node would be neutral, then to the next
//! (J. thesis 2012, chapters 3.4, 3.5). The rules differ in how the list is built, one file for each.
//!
//! An operation begins when a measurement brings news: more tasks wait, the state has changed, a receiver has
//! become known, or the last operation moved tasks and others still wait. Without news it is repeated once a
//! second, however often the driver measures: the source's nodes measure once a second.

use crate::action::TimerKind;
use crate::call_context::CallContext;
use crate::domain::DomainMembers;
use crate::exchange::Exchange;
use crate::operation::{Accepted, OPERATION_MS, Phase, PolicyOperation};
use crate::receivers::Receivers;
use crate::snapshot::{N_NAMED_MAX, OngoingOperation, OperationOutcome};
use crate::{LoadState, Moment, NodeId, NodeLoad, PolicyMessage, Timer};
use std::fmt;

/// Pause after an operation that moved nothing.
const PAUSE_MS: u64 = 100;
/// Time between two operations without news.
const REPEAT_MS: u64 = 1_000;

/// Operation number of a question for a state that belongs to no operation; operations are numbered from 1.
const NO_OPERATION: u32 = 0;

/// Sender-initiated rule: how a node learns which nodes have room.
pub(crate) trait SenderRule: fmt::Debug + Send + Sync {
    /// Begins when the first members are known; called again whenever they change.
    fn begin(&mut self, _turn: &mut CallContext<'_>) {}

    /// Announces a change of the node's own state.
    fn on_change(&mut self, _turn: &mut CallContext<'_>) {}

    /// A timer of the rule has expired.
    fn on_period(&mut self, _turn: &mut CallContext<'_>, _number: u32) {}

    /// Whether a node that announces these states joins (`true`) or leaves (`false`) the list of receivers.
    fn listing(&self, new: LoadState, _old: LoadState) -> Option<bool> {
        Some(new == LoadState::Receiver)
    }

    /// Returns whether an operation begins as soon as a receiver is known; the source's nodes wait for the next
    /// measurement of their own load.
    fn is_eager(&self) -> bool {
        false
    }

    /// Returns whether states are announced only when they change, so that a node that was unreachable needs them again.
    fn announces_changes_only(&self) -> bool {
        false
    }

    /// Begins an operation by asking nodes for their states; returns its number and the number of nodes. `None` if the
    /// nodes known to have room are asked to take tasks at once.
    fn ask_states(&self, _: &mut Receivers, _: &mut CallContext<'_>) -> Option<(u32, u32)> {
        None
    }

    /// Most times that a request is passed on.
    fn n_hops(&self) -> u8 {
        0
    }

    /// Passes a request on that has hops left; returns whether a node for it was found.
    fn pass_on(
        &self,
        _: &Receivers,
        _: &mut CallContext<'_>,
        _from: NodeId,
        _: PendingRequest,
    ) -> bool {
        false
    }

    /// Sends a request with hops to nodes of which nothing is known; returns how many.
    fn ask_strangers(&self, _: &mut CallContext<'_>, _request: PolicyMessage) -> u32 {
        0
    }
}

/// State of a node that asks other nodes to take its tasks.
#[derive(Debug)]
pub(crate) struct SenderInitiated {
    rule: Box<dyn SenderRule>,
    receivers: Receivers,
    operation: Option<PolicyOperation>,
    not_before: Moment,
    /// True if an operation may find more than the last one did.
    has_news: bool,
    /// Moment of the next operation without news. Operations with news do not move it: a node of the source asks
    /// when a task arrives and, independently of that, every second.
    repeats_at: Moment,
}

/// Request as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRequest {
    pub(crate) operation: u32,
    pub(crate) n_tasks: u16,
    pub(crate) origin: NodeId,
    pub(crate) n_hops: u8,
}

impl SenderInitiated {
    pub(crate) fn new(rule: Box<dyn SenderRule>) -> Self {
        Self {
            rule,
            receivers: Receivers::default(),
            operation: None,
            not_before: Moment::default(),
            has_news: false,
            repeats_at: Moment::default(),
        }
    }

    /// Handles the announced state of a member.
    fn on_state(
        &mut self,
        call: &mut CallContext<'_>,
        from: NodeId,
        states: (LoadState, LoadState),
    ) {
        if !call.node.domain_members.reaches(from) {
            return;
        }
        match self.rule.listing(states.0, states.1) {
            Some(true) => {
                self.has_news |= !self.receivers.known().contains(&from);
                self.add(call, from);
                self.hear_of_room(call);
            }
            Some(false) => self.receivers.remove(from),
            None => {}
        }
    }

    fn hear_of_room(&mut self, call: &mut CallContext<'_>) {
        if self.rule.is_eager() {
            (self.not_before, self.has_news) = (call.now, true);
            self.begin(call);
        }
    }

    fn add(&mut self, call: &mut CallContext<'_>, receiver: NodeId) {
        if self.receivers.add(receiver, &mut call.node.random) {
            call.node.counts.dropped += 1;
        }
    }

    /// Handles a member's answer about its state.
    fn on_state_is(&mut self, call: &mut CallContext<'_>, from: NodeId, answer: (u32, LoadState)) {
        if answer.0 == NO_OPERATION {
            return self.on_state(call, from, (answer.1, answer.1));
        }
        let Some(operation) = self.operation.as_mut() else { return };
        if !operation.awaits(answer.0, Phase::States) {
            return;
        }
        operation.n_open = operation.n_open.saturating_sub(1);
        let is_complete = operation.n_open == 0;
        if answer.1 == LoadState::Receiver {
            self.add(call, from);
        }
        if is_complete {
            self.end_phase(call);
        }
    }

    /// Accepts tasks, passes the request on, or rejects it.
    fn on_request(&mut self, call: &mut CallContext<'_>, from: NodeId, request: PendingRequest) {
        let PendingRequest { operation, n_tasks, origin, n_hops } = request;
        let n_hops = if 0 < self.rule.n_hops() { n_hops } else { 0 };
        let n_room = call.node.n_room(call.now).min(n_tasks.into());
        if origin == call.node.me {
            return;
        }
        if 0 < n_room {
            call.node.promises.promise(call.now, origin, operation, n_room);
            let n_tasks_max = u16::try_from(n_room).unwrap_or(n_tasks);
            let load_permille = call.node.load_permille();
            call.send(origin, PolicyMessage::Accept { operation, n_tasks_max, load_permille });
        } else if n_hops == 0 || !self.rule.pass_on(&self.receivers, call, from, request) {
            call.send(origin, PolicyMessage::Reject { operation });
        }
    }

    fn on_accept(&mut self, call: &mut CallContext<'_>, number: u32, accepted: Accepted) {
        match self.operation.as_mut() {
            Some(operation) if operation.awaits(number, Phase::Requests) => {
                operation.accept(accepted);
                if operation.n_open == 0 {
                    self.end_phase(call);
                }
            }
            _ => call.send(accepted.node, PolicyMessage::Release { operation: number }),
        }
    }

    fn on_reject(&mut self, call: &mut CallContext<'_>, number: u32) {
        let Some(operation) = self.operation.as_mut() else { return };
        if operation.awaits(number, Phase::Requests) {
            operation.reject();
            if operation.n_open == 0 {
                self.end_phase(call);
            }
        }
    }

    fn is_under_way(&self, number: u32) -> bool {
        self.operation.as_ref().is_some_and(|operation| operation.number == number)
    }

    fn begin(&mut self, call: &mut CallContext<'_>) {
        let is_wanted = call.node.state == LoadState::Sender && 0 < call.node.load.n_queued;
        if !is_wanted || self.operation.is_some() || call.now < self.not_before {
            return;
        }
        if !std::mem::take(&mut self.has_news) {
            if call.now < self.repeats_at {
                return;
            }
            self.repeats_at = call.now.plus_ms(REPEAT_MS);
        }
        match self.rule.ask_states(&mut self.receivers, call) {
            Some((number, n_asked)) => {
                self.open(call, PolicyOperation::new(number, call.now, Phase::States, n_asked));
            }
            None => self.request(call),
        }
    }

    fn open(&mut self, call: &mut CallContext<'_>, operation: PolicyOperation) {
        if operation.n_asked == 0 {
            call.ended(OperationOutcome::NobodyKnown);
            self.not_before = call.now.plus_ms(PAUSE_MS);
            return;
        }
        call.timer(TimerKind::Operation, operation.number, call.now.plus_ms(OPERATION_MS));
        self.operation = Some(operation);
    }

    fn end_phase(&mut self, call: &mut CallContext<'_>) {
        let Some(operation) = self.operation.take() else { return };
        match operation.phase {
            Phase::States => self.request(call),
            Phase::Requests => self.deal(call, operation),
        }
    }

    fn request(&mut self, call: &mut CallContext<'_>) {
        let number = call.node.next_operation();
        let origin = call.node.me;
        let n_tasks = u16::try_from(call.node.load.n_queued).unwrap_or(u16::MAX);
        let n_hops = self.rule.n_hops();
        let message = PolicyMessage::Request { operation: number, n_tasks, origin, n_hops };
        let candidates = self.receivers.candidates(&mut call.node.random);
        candidates.iter().for_each(|candidate| call.send(*candidate, message));
        let mut n_asked = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        if n_asked == 0 && 0 < n_hops {
            n_asked = self.rule.ask_strangers(call, message);
        }
        self.open(call, PolicyOperation::new(number, call.now, Phase::Requests, n_asked));
    }

    /// Gives the least loaded node what it accepts, then the next.
    fn deal(&mut self, call: &mut CallContext<'_>, operation: PolicyOperation) {
        let (number, n_asked, n_open) = (operation.number, operation.n_asked, operation.n_open);
        call.node.counts.not_accepted += u64::from(operation.n_rejected) + u64::from(n_open);
        let accepted = operation.into_accepted();
        let mut n_moved = 0;
        for Accepted { node, n_tasks_max, .. } in &accepted {
            let n_given = call.give(*node, *n_tasks_max);
            n_moved += n_given;
            if 0 < n_given {
                call.node.counts.accepted += 1;
            } else {
                call.node.counts.unused += 1;
                call.send(*node, PolicyMessage::Release { operation: number });
            }
        }
        call.ended(match n_moved {
            0 if !accepted.is_empty() => OperationOutcome::NothingLeft,
            0 if 0 < n_open => OperationOutcome::NoAnswer { n_asked },
            0 => OperationOutcome::AllRejected { n_asked },
            n_tasks => OperationOutcome::Moved { n_tasks },
        });
        if n_moved == 0 {
            self.not_before = call.now.plus_ms(PAUSE_MS);
        } else {
            self.has_news = true;
        }
    }
}

impl Exchange for SenderInitiated {
    /// Applies a change of members. Overlapping domains shift when a node comes or leaves: a node that is no longer
    /// a neighbor no longer announces its state, and is forgotten.
    fn on_peers(&mut self, call: &mut CallContext<'_>, before: &DomainMembers) {
        self.receivers.retain(|id| call.node.domain_members.reaches(id));
        let is_new_neighbor =
            |id: NodeId| before.members.position(id).is_some() && !before.reaches(id);
        let neighbors = call.node.domain_members.neighbors.clone();
        for id in neighbors.into_iter().filter(|id| is_new_neighbor(*id)) {
            self.on_reached(call, id);
        }
        self.rule.begin(call);
    }

    fn on_measurement(&mut self, call: &mut CallContext<'_>, load: NodeLoad) {
        // The measured load excludes tasks that were given away, so tasks that came back count as more.
        let has_more = call.node.load.n_queued < load.n_queued;
        let has_changed = call.node.measure(load);
        self.has_news |= has_more || has_changed;
        if has_changed {
            self.rule.on_change(call);
        }
        self.begin(call);
    }

    fn on_message(&mut self, call: &mut CallContext<'_>, from: NodeId, message: PolicyMessage) {
        match message {
            PolicyMessage::State { new, old } => self.on_state(call, from, (new, old)),
            PolicyMessage::StateIs { operation, state } => {
                self.on_state_is(call, from, (operation, state));
            }
            PolicyMessage::Request { operation, n_tasks, origin, n_hops } => {
                self.on_request(call, from, PendingRequest { operation, n_tasks, origin, n_hops });
            }
            PolicyMessage::Accept { operation, n_tasks_max, load_permille } => {
                let n_tasks_max = n_tasks_max.into();
                self.on_accept(
                    call,
                    operation,
                    Accepted { node: from, n_tasks_max, load_permille },
                );
            }
            PolicyMessage::Reject { operation } => self.on_reject(call, operation),
            PolicyMessage::Pull { operation, .. } => {
                call.send(from, PolicyMessage::Nothing { operation });
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, call: &mut CallContext<'_>, timer: Timer) {
        match timer.kind {
            TimerKind::Operation if self.is_under_way(timer.number) => self.end_phase(call),
            TimerKind::Period => self.rule.on_period(call, timer.number),
            _ => {}
        }
    }

    fn on_came_back(&mut self, _call: &mut CallContext<'_>, to: NodeId) {
        self.on_lost(to);
    }

    fn on_lost(&mut self, peer: NodeId) {
        self.receivers.remove(peer);
    }

    /// Exchanges states with a node that was silent, since both sides may have missed changes.
    fn on_reached(&mut self, call: &mut CallContext<'_>, peer: NodeId) {
        if self.rule.announces_changes_only() && call.node.domain_members.reaches(peer) {
            let (new, old) = (call.node.state, call.node.previous);
            call.send(peer, PolicyMessage::State { new, old });
            // Its announcements before this node knew it were ignored, and it announces changes only.
            call.send(peer, PolicyMessage::AskState { operation: NO_OPERATION });
        }
    }

    fn known(&self) -> (Vec<NodeId>, usize) {
        let known = self.receivers.known();
        (known.iter().take(N_NAMED_MAX).copied().collect(), known.len())
    }

    fn under_way(&self) -> Option<OngoingOperation> {
        let under_way = |operation: &PolicyOperation| OngoingOperation {
            since: operation.began,
            n_asked: operation.n_asked,
            n_open: operation.n_open,
        };
        self.operation.as_ref().map(under_way)
    }
}
