//! Time of a run on an ideal network, which moves any message in no time: the waiting that remains comes
//! from the order in which ranks depend on each other.
//!
//! Every rank keeps its own clock. Computation advances it by its measured time; a receive sets it to the
//! later of itself and the send of the message; a collective sets it to the latest clock among those it
//! waits for. A send never waits. The latest clock at the end is the ideal time `T_ideal`, by which POP
//! splits communication efficiency:
//!
//! - serialization efficiency: `max(u) / T_ideal`
//! - transfer efficiency: `T_ideal / T`
//!
//! Source: POP Standard Metrics for Parallel Performance Analysis (pop-coe.eu), where Dimemas replays the
//! trace on a network with zero latency and infinite bandwidth.
//!
//! # Invariants
//! - Linear in the number of steps: every step is completed once and tried at most twice.
//! - Never hangs: a trace in which threads wait for each other in a cycle is [`Stalled`].
//! - An operation without a partner in the trace does not wait, and is counted.
//!
//! # Not here
//! Sends that wait for their receive (`MPI_Ssend`, large messages): they are treated as buffered. The true
//! order of messages with one tag sent by several threads of one rank: they are taken thread by thread.

mod collectives;

use crate::action::CallEffect;
use crate::matching::{Matcher, Matches};
use crate::thread_timeline::ThreadTimeline;
use collectives::{Collectives, Participation};
use std::collections::HashMap;
use thiserror::Error;

/// Result of a run on an ideal network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealRun {
    /// Elapsed time, in ns.
    pub elapsed_ns: u64,
    /// Operations with one end missing from the trace.
    pub unmatched: Unmatched,
}

/// Operations with one end missing from the trace, which were therefore not waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Sends without a receive.
    pub sends: u64,
    /// Receives without a send.
    pub receives: u64,
    /// Collective operations from which some member's call is missing.
    pub collectives: u64,
}

/// Error: threads wait for each other in a cycle, because the trace is incomplete or its rows are out of
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{n_waiting} of {n_timelines} threads wait for each other in the trace: it is incomplete")]
pub struct Stalled {
    /// Number of threads that did not reach their end.
    pub n_waiting: usize,
    /// Number of threads in the trace.
    pub n_timelines: usize,
    /// Operations with one end missing from the trace.
    pub unmatched: Unmatched,
}

/// The two parts of communication efficiency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Longest useful time over the time on an ideal network.
    pub serialization_efficiency: f64,
    /// Time on an ideal network over elapsed time.
    pub transfer_efficiency: f64,
}

/// Splits communication efficiency, `useful_max_s / elapsed_s`, by the time on an ideal network.
///
/// The ideal time lies between the other two. Where the measurement says otherwise (the trace starts a
/// little later than the clock of a rank), it is clamped to the nearer of them. `None` when either time is
/// not positive.
pub fn split(useful_max_s: f64, ideal_s: f64, elapsed_s: f64) -> Option<Split> {
    let useful_max_s = useful_max_s.min(elapsed_s);
    if useful_max_s <= 0.0 || !elapsed_s.is_finite() || ideal_s.is_nan() {
        return None;
    }
    let ideal_s = ideal_s.clamp(useful_max_s, elapsed_s);
    Some(Split {
        serialization_efficiency: useful_max_s / ideal_s,
        transfer_efficiency: ideal_s / elapsed_s,
    })
}

/// Runs the timelines of one world on an ideal network.
///
/// # Errors
/// When timelines wait for each other in a cycle, which never happens in a complete trace of a program that
/// ended.
pub fn run(timelines: &[ThreadTimeline]) -> Result<IdealRun, Stalled> {
    let mut run = Run {
        timelines,
        clocks: timelines.iter().map(|_| Clock::default()).collect(),
        messages: Messages::of(timelines),
        collectives: Collectives::of(timelines),
        started: HashMap::new(),
        ready: (0..timelines.len()).rev().collect(),
    };
    while let Some(timeline) = run.ready.pop() {
        run.advance(timeline);
    }
    let unmatched = Unmatched {
        sends: run.messages.matches.n_unmatched_sends,
        receives: run.messages.matches.n_unmatched_receives,
        collectives: run.collectives.n_incomplete,
    };
    let clocks = || run.clocks.iter().zip(timelines);
    let n_waiting = clocks().filter(|(clock, timeline)| clock.next < timeline.steps.len()).count();
    if 0 < n_waiting {
        return Err(Stalled { n_waiting, n_timelines: timelines.len(), unmatched });
    }
    let ends = clocks().map(|(clock, timeline)| clock.at_ns + timeline.compute_after_ns);
    Ok(IdealRun { elapsed_ns: ends.max().unwrap_or(0), unmatched })
}

/// Evaluation of all timelines, each advanced as far as its dependencies allow.
struct Run<'a> {
    timelines: &'a [ThreadTimeline],
    clocks: Vec<Clock>,
    messages: Messages,
    collectives: Collectives,
    /// Operations that were started under a request and are not completed, by rank and request.
    started: HashMap<(u32, u64), Need>,
    /// Timelines that can advance.
    ready: Vec<usize>,
}

/// Progress of one timeline.
#[derive(Default)]
struct Clock {
    at_ns: u64,
    /// Index of its next step, or of the step in which it waits.
    next: usize,
    n_sends: usize,
    n_receives: usize,
    waits_for: Option<Need>,
}

/// Event that a timeline waits for.
#[derive(Clone, Copy)]
enum Need {
    /// The message of the receive with this number.
    Message(usize),
    /// Other members of a collective.
    Others(Participation),
}

impl Run<'_> {
    /// Advances the timeline until it waits or ends.
    fn advance(&mut self, timeline: usize) {
        while let Some(step) = self.timelines[timeline].steps.get(self.clocks[timeline].next) {
            let need = match self.clocks[timeline].waits_for.take() {
                Some(need) => Some(need),
                None => {
                    self.clocks[timeline].at_ns += step.compute_ns;
                    self.enter(timeline, step.action)
                }
            };
            if let Some(need) = need {
                let Some(time_ns) = self.time_of(need, timeline) else {
                    self.clocks[timeline].waits_for = Some(need);
                    return;
                };
                self.clocks[timeline].at_ns = self.clocks[timeline].at_ns.max(time_ns);
            }
            self.clocks[timeline].next += 1;
        }
    }

    /// Executes the timeline's part of the action; returns what the timeline has to wait for.
    fn enter(&mut self, timeline: usize, action: CallEffect) -> Option<Need> {
        let rank = self.timelines[timeline].rank;
        let clock = &mut self.clocks[timeline];
        match action {
            CallEffect::Send { .. } => {
                self.ready.extend(self.messages.sent(timeline, clock.n_sends, clock.at_ns));
                clock.n_sends += 1;
                None
            }
            CallEffect::Receive(_) | CallEffect::StartReceive { .. } => {
                let number = self.messages.first_receive[timeline] + clock.n_receives;
                clock.n_receives += 1;
                let CallEffect::StartReceive { request, .. } = action else {
                    return Some(Need::Message(number));
                };
                self.started.insert((rank, request), Need::Message(number));
                None
            }
            CallEffect::Complete { request, .. } => self.started.remove(&(rank, request)),
            CallEffect::Collective { communicator, flow, request } => {
                let (place, woken) = self.collectives.join(rank, communicator, flow, clock.at_ns);
                self.ready.extend(woken);
                if request == 0 {
                    return Some(Need::Others(place));
                }
                self.started.insert((rank, request), Need::Others(place));
                None
            }
        }
    }

    /// Returns the time at which the awaited event happens; if that is not known yet, registers the timeline to
    /// be woken then.
    fn time_of(&mut self, need: Need, timeline: usize) -> Option<u64> {
        match need {
            Need::Message(number) => self.messages.arrival_ns(number, timeline),
            Need::Others(place) => self.collectives.release_ns(place, timeline),
        }
    }
}

/// Sends and receives of all timelines, numbered timeline by timeline.
struct Messages {
    matches: Matches,
    first_send: Vec<usize>,
    first_receive: Vec<usize>,
    sends: Vec<SentMessage>,
}

/// One send, and the timeline that waits for it.
#[derive(Clone, Copy, Default)]
struct SentMessage {
    at_ns: Option<u64>,
    waiting: Option<usize>,
}

impl Messages {
    fn of(timelines: &[ThreadTimeline]) -> Self {
        let mut matcher = Matcher::default();
        let (mut first_send, mut first_receive) = (Vec::new(), Vec::new());
        let (mut n_sends, mut n_receives) = (0, 0);
        for timeline in timelines {
            first_send.push(n_sends);
            first_receive.push(n_receives);
            for step in &timeline.steps {
                match step.action {
                    CallEffect::Send { message, .. } => {
                        matcher.send(timeline.rank, message);
                        n_sends += 1;
                    }
                    CallEffect::Receive(message) | CallEffect::StartReceive { message, .. } => {
                        matcher.receive(timeline.rank, message);
                        n_receives += 1;
                    }
                    CallEffect::Complete { .. } | CallEffect::Collective { .. } => (),
                }
            }
        }
        let sends = vec![SentMessage::default(); n_sends];
        Self { matches: matcher.finish(), first_send, first_receive, sends }
    }

    /// Records the timeline's n-th send; returns the timeline that waited for it.
    fn sent(&mut self, timeline: usize, nth: usize, at_ns: u64) -> Option<usize> {
        let send = &mut self.sends[self.first_send[timeline] + nth];
        send.at_ns = Some(at_ns);
        send.waiting.take()
    }

    /// Returns the time at which the message of the receive was sent, or 0 when the receive has no send. If
    /// the message is not sent yet, registers `timeline` as waiting.
    fn arrival_ns(&mut self, receive: usize, timeline: usize) -> Option<u64> {
        let Some(send) = self.matches.send_of_receive[receive] else { return Some(0) };
        let send = &mut self.sends[send as usize];
        if send.at_ns.is_none() {
            send.waiting = Some(timeline);
        }
        send.at_ns
    }
}

#[cfg(test)]
mod tests;
