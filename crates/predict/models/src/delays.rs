//! Causes of waiting in a trace: the rank and the place in the program that made others wait, and the critical path.
//!
//! A rank waits in a call until another rank does its part: the sender enters its send, the receiver its receive, the last
//! member the collective. What the late rank did in more time than the waiting one since both last left a call
//! together is the *delay*; its cost is the waiting that it causes, that of the waiting rank and, in turn, the waiting that
//! this rank causes later. So the costs of all delays add up to all waiting.
//!
//! The critical path runs backward from the end of the last rank; at each wait it goes on at the rank that was waited for.
//! Only what lies on it makes the run longer.
//!
//! Source: D. Böhme et al., Identifying the Root Causes of Wait States in Large-Scale Parallel Applications, ACM TOPC 3(2),
//! 2016, with one difference: costs are divided by the excess of each place, long-term costs included, in one pass.
//!
//! # Invariants
//! - Linear in the number of calls, but for at most [`SCANNED_PER_CALL`] calls looked at again for each.
//! - Waits within the error of the clocks of two nodes are none.
//!
//! # Not here
//! Waiting of loops that test for completion: it counts as computing between the tests. One-sided communication, files.

mod costs;
mod partners;
mod path;
#[cfg(test)]
mod tests;
mod waits;

use crate::thread_timeline::{CallSpan, ThreadTimeline};
use partners::Partners;
use std::collections::HashMap;
use waits::Waits;

/// Calls that are looked at again for each call, on average.
const SCANNED_PER_CALL: usize = 64;

/// Clock of a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockError {
    /// Number of its node; the clocks of one node agree.
    pub node: usize,
    /// Largest difference to the clock of the analyzer, in ns.
    pub error_ns: u64,
}

/// Part of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Computation between two calls: the call sites, or `None` at the ends of a thread and where they are unknown.
    Computing(Option<u32>, Option<u32>),
    /// Time in the calls of a call site without waiting for other ranks.
    Calling(Option<u32>),
}

/// Time of a rank at a place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceTime {
    /// The rank.
    pub rank: u32,
    /// The place.
    pub place: Place,
    /// Time, in ns.
    pub time_ns: u64,
}

/// Waiting of all ranks and its causes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Waiting of all ranks, in ns.
    pub waiting_ns: u64,
    /// Waiting that each rank causes at each place, most first.
    pub causes: Vec<PlaceTime>,
    /// Time of each rank and place on the critical path, longest first.
    pub critical_path: Vec<PlaceTime>,
}

/// Analyzes the timelines of one world, with the clock of each.
pub fn analyze(timelines: &[ThreadTimeline], clocks: &[ClockError]) -> Delays {
    let partners = Partners::of(timelines);
    let waits = Waits::find(timelines, &partners, clocks);
    let causes = sorted(costs::of_waits(timelines, &waits, &partners));
    let critical_path = sorted(path::critical(timelines, &waits));
    Delays { waiting_ns: waits.total_ns(), causes, critical_path }
}

/// Sums of times by rank and place.
type Sums = HashMap<(u32, Place), f64>;

fn sorted(sums: Sums) -> Vec<PlaceTime> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are positive and far below 2^63 ns"
    )]
    let time = |((rank, place), ns): ((u32, Place), f64)| PlaceTime {
        rank,
        place,
        time_ns: ns.round() as u64,
    };
    let mut times: Vec<PlaceTime> =
        sums.into_iter().map(time).filter(|it| it.time_ns != 0).collect();
    times.sort_by_key(|it| (std::cmp::Reverse(it.time_ns), it.rank, it.place));
    times
}

/// Call of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CallAt {
    timeline: usize,
    call: usize,
}

impl CallAt {
    fn span(self, timelines: &[ThreadTimeline]) -> CallSpan {
        timelines[self.timeline].calls[self.call]
    }
}

fn site(call: &CallSpan) -> Option<u32> {
    (call.site != CallSpan::UNKNOWN).then_some(call.site)
}

/// Returns the computation before a call of a timeline; with the number of its calls, that after the last one.
fn computing_before(timeline: &ThreadTimeline, call: usize) -> Place {
    let of = |call: Option<usize>| call.and_then(|at| timeline.calls.get(at)).and_then(site);
    Place::Computing(of(call.checked_sub(1)), of(Some(call)))
}

/// Returns the start of the computation before a call, in ns.
fn computing_since(timeline: &ThreadTimeline, call: usize) -> u64 {
    let before = call.checked_sub(1).map(|before| timeline.calls[before].end_ns);
    before.unwrap_or(timeline.span_ns.0)
}
