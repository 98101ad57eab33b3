//! Waits of a trace: how long each call waited, and for which other call.

use super::partners::{Partners, effects};
use super::{CallAt, ClockError};
use crate::action::CallEffect;
use crate::thread_timeline::ThreadTimeline;
use std::collections::HashMap;

/// Shortest wait in ns that counts.
const WAIT_NS_MIN: u64 = 1000;

/// Part of a call in which it waited for another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartnerWait {
    pub(super) at: CallAt,
    /// Call that was waited for.
    pub(super) of: CallAt,
    /// Start and end of the wait, in ns; it ends when the other call starts.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Communicator of the operation.
    pub(super) communicator: u32,
}

/// All waits, at most one for each call.
pub(super) struct Waits {
    /// In order of timelines and calls.
    pub(super) all: Vec<PartnerWait>,
}

/// Operation that a timeline waits for when its request completes.
#[derive(Clone, Copy)]
enum Started {
    Receive(usize, u32),
    Send(usize, u32),
    Collective { at: CallAt, step: usize, communicator: u32 },
}

impl Waits {
    pub(super) fn find(
        timelines: &[ThreadTimeline],
        partners: &Partners,
        clocks: &[ClockError],
    ) -> Self {
        let mut finder = Finder { timelines, partners, clocks, all: Vec::new() };
        let mut started: HashMap<(u32, u64), Started> = HashMap::new();
        let (mut n_sends, mut n_receives) = (0, 0);
        for (at, step, effect) in effects(timelines) {
            let rank = timelines[at.timeline].rank;
            let (request, operation) = match effect {
                CallEffect::Send { message, request } => {
                    n_sends += 1;
                    (request, Started::Send(n_sends - 1, message.communicator))
                }
                CallEffect::Receive(message) => {
                    n_receives += 1;
                    (0, Started::Receive(n_receives - 1, message.communicator))
                }
                CallEffect::StartReceive { message, request } => {
                    n_receives += 1;
                    (request, Started::Receive(n_receives - 1, message.communicator))
                }
                CallEffect::Collective { communicator, request, .. } => {
                    (request, Started::Collective { at, step, communicator })
                }
                CallEffect::Complete { request, .. } => {
                    if let Some(operation) = started.remove(&(rank, request)) {
                        finder.waited(at, operation);
                    }
                    continue;
                }
            };
            if request == 0 {
                finder.waited(at, operation);
            } else {
                started.insert((rank, request), operation);
            }
        }
        Self { all: finder.all }
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.all.iter().map(|wait| wait.end_ns - wait.start_ns).sum()
    }

    /// Returns the wait of a call.
    pub(super) fn of_call(&self, at: CallAt) -> Option<(usize, &PartnerWait)> {
        let found = self.all.binary_search_by_key(&at, |wait| wait.at).ok()?;
        Some((found, &self.all[found]))
    }
}

struct Finder<'a> {
    timelines: &'a [ThreadTimeline],
    partners: &'a Partners,
    clocks: &'a [ClockError],
    all: Vec<PartnerWait>,
}

impl Finder<'_> {
    /// Notes that a call waited for an operation, if its partner came late.
    fn waited(&mut self, at: CallAt, operation: Started) {
        let (of, communicator, is_sure) = match operation {
            Started::Receive(number, communicator) => {
                (self.partners.sender(number), communicator, true)
            }
            // A send that a library buffers ends before the receive begins.
            Started::Send(number, communicator) => {
                (self.partners.receiver(number), communicator, false)
            }
            Started::Collective { at, step, communicator } => {
                (self.partners.awaited(at, step, communicator), communicator, true)
            }
        };
        let Some(of) = of.filter(|of| of.timeline != at.timeline) else { return };
        let (own, other) = (at.span(self.timelines), of.span(self.timelines));
        let clock = |at: CallAt| self.clocks.get(at.timeline).copied().unwrap_or_default();
        let (own_clock, other_clock) = (clock(at), clock(of));
        let is_near = own_clock.node == other_clock.node;
        let error_ns = if is_near { 0 } else { own_clock.error_ns + other_clock.error_ns };
        let start_ns = own.start_ns.max(self.timelines[of.timeline].span_ns.0);
        let end_ns = other.start_ns.min(own.end_ns);
        let is_late = start_ns + error_ns.max(WAIT_NS_MIN) <= end_ns;
        if !is_late || !is_sure && own.end_ns < other.start_ns {
            return;
        }
        let wait = PartnerWait { at, of, start_ns, end_ns, communicator };
        match self.all.last_mut().filter(|last| last.at == at) {
            // A call that completes several operations waits for the last one.
            Some(last) if end_ns <= last.end_ns => (),
            Some(last) => *last = wait,
            None => self.all.push(wait),
        }
    }
}
