//! The time of a run on an ideal network, which moves any message at once: what remains of the waiting is
//! the order in which ranks depend on each other.
//!
//! Every rank keeps its own clock. Computation advances it by its measured time; a receive sets it to the
//! later of itself and the send of the message; a collective sets it to the latest clock among those it
//! waits for. A send never waits. The longest clock at the end is the ideal time `T_ideal`, and POP
//! splits communication efficiency by it:
//!
//! - serialization efficiency: `max(u) / T_ideal`
//! - transfer efficiency: `T_ideal / T`
//!
//! Source: POP Standard Metrics for Parallel Performance Analysis (pop-coe.eu), where Dimemas replays the
//! trace on a network of no latency and infinite bandwidth.
//!
//! # Invariants
//! - Linear in the number of steps; every step is left once and looked at twice at most.
//! - Never hangs: a trace in which everyone waits for everyone is [`Stalled`].
//! - What has no partner in the trace does not wait, and is counted.
//!
//! # Not here
//! Sends that wait for their receive (`MPI_Ssend`, large messages): they count as buffered. The order of
//! messages of one tag sent by several threads of one rank: it is taken thread by thread.

mod collectives;
mod messages;

use crate::action::Action;
use crate::lane::Lane;
use collectives::{Collectives, Place};
use messages::Messages;
use std::collections::HashMap;
use thiserror::Error;

/// A run on an ideal network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealRun {
    /// Its time.
    pub elapsed_ns: u64,
    /// What the trace does not hold both ends of.
    pub unmatched: Unmatched,
}

/// What the trace does not hold both ends of, and what was therefore not waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Sends that nobody received.
    pub sends: u64,
    /// Receives whose message was not found.
    pub receives: u64,
    /// Collective operations in which some member's call is missing.
    pub collectives: u64,
}

/// A trace in which everyone waits for everyone: it is incomplete or its rows are out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{n_waiting} of {n_lanes} threads wait for each other in the trace: it is incomplete")]
pub struct Stalled {
    /// Threads that did not reach their end.
    pub n_waiting: usize,
    /// Threads.
    pub n_lanes: usize,
    /// What the trace does not hold both ends of.
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
/// The ideal time lies between the other two; where the measurement says otherwise (the trace starts a
/// little later than the clock of a rank), it is taken as the nearer of them. None without time.
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

/// Runs the lanes of one world on an ideal network.
///
/// # Errors
/// When the lanes wait for each other, which a complete trace of a program that ended never does.
pub fn run(lanes: &[Lane]) -> Result<IdealRun, Stalled> {
    let mut run = Run {
        lanes,
        clocks: lanes.iter().map(|_| Clock::default()).collect(),
        messages: Messages::of(lanes),
        collectives: Collectives::of(lanes),
        started: HashMap::new(),
        ready: (0..lanes.len()).rev().collect(),
    };
    while let Some(lane) = run.ready.pop() {
        run.advance(lane);
    }
    let mut unmatched = run.messages.unmatched();
    unmatched.collectives = run.collectives.n_incomplete;
    let n_waiting = run.clocks.iter().zip(lanes).filter(|(c, l)| c.next < l.steps.len()).count();
    if 0 < n_waiting {
        return Err(Stalled { n_waiting, n_lanes: lanes.len(), unmatched });
    }
    let ends =
        run.clocks.iter().zip(lanes).map(|(clock, lane)| clock.at_ns + lane.compute_after_ns);
    Ok(IdealRun { elapsed_ns: ends.max().unwrap_or(0), unmatched })
}

/// The evaluation of all lanes, each as far as what it waits for allows.
struct Run<'a> {
    lanes: &'a [Lane],
    clocks: Vec<Clock>,
    messages: Messages,
    collectives: Collectives,
    /// What was started under a request of a rank and is not completed.
    started: HashMap<(u32, u64), Need>,
    /// Lanes that can go on.
    ready: Vec<usize>,
}

/// Where one lane stands.
#[derive(Default)]
struct Clock {
    at_ns: u64,
    /// Its next step, or the one in which it waits.
    next: usize,
    n_sends: usize,
    n_receives: usize,
    waits_for: Option<Need>,
}

/// What a lane waits for.
#[derive(Clone, Copy)]
enum Need {
    /// The message of this receive.
    Message(usize),
    /// Others in a collective.
    Others(Place),
}

impl Run<'_> {
    /// Takes the lane forward until it waits or ends.
    fn advance(&mut self, lane: usize) {
        while let Some(step) = self.lanes[lane].steps.get(self.clocks[lane].next) {
            let need = match self.clocks[lane].waits_for.take() {
                Some(need) => Some(need),
                None => {
                    self.clocks[lane].at_ns += step.compute_ns;
                    self.enter(lane, step.action)
                }
            };
            if let Some(need) = need {
                let Some(time_ns) = self.time_of(need, lane) else {
                    self.clocks[lane].waits_for = Some(need);
                    return;
                };
                self.clocks[lane].at_ns = self.clocks[lane].at_ns.max(time_ns);
            }
            self.clocks[lane].next += 1;
        }
    }

    /// Does the lane's part of the action; returns what it has to wait for.
    fn enter(&mut self, lane: usize, action: Action) -> Option<Need> {
        let rank = self.lanes[lane].rank;
        let clock = &mut self.clocks[lane];
        match action {
            Action::Send { .. } => {
                self.ready.extend(self.messages.sent(lane, clock.n_sends, clock.at_ns));
                clock.n_sends += 1;
                None
            }
            Action::Receive(_) => {
                clock.n_receives += 1;
                let number = self.messages.number_of_receive(lane, clock.n_receives - 1);
                Some(Need::Message(number))
            }
            Action::StartReceive { request, .. } => {
                clock.n_receives += 1;
                let number = self.messages.number_of_receive(lane, clock.n_receives - 1);
                self.started.insert((rank, request), Need::Message(number));
                None
            }
            Action::Complete { request, .. } => self.started.remove(&(rank, request)),
            Action::Collective { communicator, flow, request } => {
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

    /// When what is needed is there; otherwise the lane is woken when it is.
    fn time_of(&mut self, need: Need, lane: usize) -> Option<u64> {
        match need {
            Need::Message(number) => self.messages.arrival_ns(number, lane),
            Need::Others(place) => self.collectives.release_ns(place, lane),
        }
    }
}

#[cfg(test)]
mod tests;
