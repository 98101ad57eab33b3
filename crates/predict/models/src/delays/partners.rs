//! Calls that belong together: both ends of a message, all members of a collective.

use super::CallAt;
use crate::action::{CallEffect, Flow};
use crate::matching::Matcher;
use crate::thread_timeline::ThreadTimeline;
use std::collections::HashMap;

/// Arrival of a rank at a collective operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) at: CallAt,
    pub(super) start_ns: u64,
}

/// Collective operation, with its latest member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    flow: Flow,
    latest: Arrival,
    second: Option<Arrival>,
    root: Option<Arrival>,
}

/// Partners of the communication effects of all timelines.
pub(super) struct Partners {
    /// Calls of sends and receives, each numbered timeline by timeline.
    sends: Vec<CallAt>,
    receives: Vec<CallAt>,
    receive_of_send: Vec<Option<u32>>,
    send_of_receive: Vec<Option<u32>>,
    /// Collective operations in order, by communicator.
    operations: HashMap<u32, Vec<Operation>>,
    /// Number of the operation of each collective call, by timeline and position of the step.
    nth: HashMap<(usize, usize), usize>,
}

impl Partners {
    pub(super) fn of(timelines: &[ThreadTimeline]) -> Self {
        let (mut matcher, mut sends, mut receives) = (Matcher::default(), Vec::new(), Vec::new());
        let mut collectives = Vec::new();
        for (at, step, effect) in effects(timelines) {
            let rank = timelines[at.timeline].rank;
            match effect {
                CallEffect::Send { message, .. } => {
                    matcher.send(rank, message);
                    sends.push(at);
                }
                CallEffect::Receive(message) | CallEffect::StartReceive { message, .. } => {
                    matcher.receive(rank, message);
                    receives.push(at);
                }
                CallEffect::Collective { communicator, flow, .. } => {
                    let start_ns = at.span(timelines).start_ns;
                    collectives.push((communicator, rank, start_ns, at, step, flow));
                }
                CallEffect::Complete { .. } => (),
            }
        }
        let send_of_receive = matcher.finish().send_of_receive;
        let mut receive_of_send = vec![None; sends.len()];
        for (receive, send) in (0..).zip(&send_of_receive) {
            if let Some(place) = send.and_then(|send| receive_of_send.get_mut(send as usize)) {
                *place = Some(receive);
            }
        }
        // Threads of a rank take turns in the collectives of a communicator: their times tell in which order.
        collectives
            .sort_by_key(|(communicator, rank, start_ns, ..)| (*communicator, *rank, *start_ns));
        let mut all = Self {
            sends,
            receives,
            receive_of_send,
            send_of_receive,
            operations: HashMap::new(),
            nth: HashMap::new(),
        };
        let mut turn = (None, 0);
        for (communicator, rank, start_ns, at, step, flow) in collectives {
            let nth = if turn.0 == Some((communicator, rank)) { turn.1 + 1 } else { 0 };
            turn = (Some((communicator, rank)), nth);
            all.nth.insert((at.timeline, step), nth);
            all.join(communicator, nth, (rank, flow), Arrival { at, start_ns });
        }
        all
    }

    /// Adds a member to the n-th operation of a communicator; members come rank by rank, each in order.
    fn join(&mut self, communicator: u32, nth: usize, (rank, flow): (u32, Flow), member: Arrival) {
        let operations = self.operations.entry(communicator).or_default();
        let is_root = matches!(flow, Flow::FromRoot(root) | Flow::ToRoot(root) if root == rank);
        let root = is_root.then_some(member);
        match operations.get_mut(nth) {
            None => operations.push(Operation { flow, latest: member, second: None, root }),
            Some(operation) => {
                operation.root = operation.root.or(root);
                let is_latest = operation.latest.start_ns < member.start_ns;
                let other = if is_latest {
                    std::mem::replace(&mut operation.latest, member)
                } else {
                    member
                };
                let is_second =
                    operation.second.is_none_or(|second| second.start_ns < other.start_ns);
                operation.second = if is_second { Some(other) } else { operation.second };
            }
        }
    }

    /// Returns the call that sends the message of a receive.
    pub(super) fn sender(&self, receive: usize) -> Option<CallAt> {
        let send = (*self.send_of_receive.get(receive)?)?;
        self.sends.get(send as usize).copied()
    }

    /// Returns the call that posts the receive of a message.
    pub(super) fn receiver(&self, send: usize) -> Option<CallAt> {
        let receive = (*self.receive_of_send.get(send)?)?;
        self.receives.get(receive as usize).copied()
    }

    /// Returns the call that the collective call at this step of a timeline waits for.
    pub(super) fn awaited(&self, at: CallAt, step: usize, communicator: u32) -> Option<CallAt> {
        let nth = *self.nth.get(&(at.timeline, step))?;
        let operation = self.operations.get(&communicator)?.get(nth)?;
        let is_root = operation.root.is_some_and(|root| root.at == at);
        let others = || [Some(operation.latest), operation.second].into_iter().flatten();
        let last = match operation.flow {
            Flow::All => others().find(|member| member.at != at),
            Flow::ToRoot(_) if is_root => others().find(|member| member.at != at),
            Flow::FromRoot(_) if !is_root => operation.root,
            _ => None,
        };
        last.map(|member| member.at)
    }

    /// Returns the last time before `before_ns` at which all ranks entered a collective operation together, or 0.
    pub(super) fn last_meeting_ns(&self, communicator: u32, before_ns: u64) -> u64 {
        let Some(operations) = self.operations.get(&communicator) else { return 0 };
        let end = operations.partition_point(|operation| operation.latest.start_ns < before_ns);
        let met =
            operations[..end].iter().rev().take(16).find(|operation| operation.flow == Flow::All);
        met.map_or(0, |operation| operation.latest.start_ns)
    }
}

/// Returns the effects of all timelines with their calls and positions among the steps.
pub(super) fn effects(
    timelines: &[ThreadTimeline],
) -> impl Iterator<Item = (CallAt, usize, CallEffect)> {
    timelines.iter().enumerate().flat_map(|(timeline, of)| {
        let mut call = 0;
        of.steps.iter().enumerate().filter(|_| !of.calls.is_empty()).map(move |(step, it)| {
            while of.calls.get(call + 1).is_some_and(|next| next.first_step as usize <= step) {
                call += 1;
            }
            (CallAt { timeline, call }, step, it.action)
        })
    })
}
