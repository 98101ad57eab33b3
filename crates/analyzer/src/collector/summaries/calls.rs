//! The calls that a thread is in, by its records of entries and exits.
//!
//! # Invariants
//! - At most [`N_DEEP_MAX`] of them are remembered; a batch tells the outer ones.
//! - A call that spans dropped records is timed only where these are a small part of it: its exit may be that of
//!   a later call.

use std::collections::VecDeque;
use wire::summary::N_OPEN_MAX;

/// Open calls remembered of a thread at most.
pub(super) const N_DEEP_MAX: usize = 1024;
/// A call is this many times as long as the gaps in it, or has no time.
const GAPS_WITHIN: u64 = 8;

/// A call that did not end yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    function: u32,
    ticks: u64,
    /// [`Calls::lost_ticks`] then.
    lost_ticks: u64,
}

/// What is remembered of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Calls that it is in.
    open: Vec<Open>,
    /// Records were dropped before those of these numbers.
    gaps: VecDeque<u64>,
    /// Ticks in gaps so far.
    lost_ticks: u64,
    /// When its last event was.
    last_ticks: u64,
    /// Records before this one are in batches that the analyzer has.
    pub(super) resumes_at: u64,
    /// Batch in which it has a range, and which one.
    pub(super) range: (u64, usize),
    /// Where its last range ended.
    pub(super) range_end: Option<u64>,
}

impl Calls {
    /// Goes on with records from `end` on, where the thread was in the calls `open`.
    pub(crate) fn resume(&mut self, position: u64, end: u64, open: Vec<(u32, u64)>) {
        *self = Self::default();
        if position <= end {
            self.resumes_at = end;
            self.range_end = Some(end);
            let open = open.into_iter().take(N_OPEN_MAX);
            let open = open.map(|(function, ticks)| Open { function, ticks, lost_ticks: 0 });
            self.open = open.collect();
        }
    }

    /// Records were dropped before the one that has number `at`.
    pub(crate) fn lack_before(&mut self, at: u64) {
        if self.gaps.len() < N_DEEP_MAX {
            self.gaps.push_back(at);
        }
    }

    /// Goes on to an event with its number and ticks.
    pub(super) fn go_on(&mut self, number: u64, ticks: u64) {
        while self.gaps.front().is_some_and(|gap| *gap <= number) {
            self.gaps.pop_front();
            self.lost_ticks += ticks.saturating_sub(self.last_ticks);
            self.last_ticks = ticks;
        }
        self.last_ticks = ticks;
    }

    /// The outermost calls that it is in: function and ticks of the entry.
    pub(super) fn outer(&self) -> impl Iterator<Item = (u32, u64)> {
        self.open.iter().take(N_OPEN_MAX).map(|open| (open.function, open.ticks))
    }

    /// Enters `function`; whether that is remembered.
    pub(super) fn enter(&mut self, function: u32, ticks: u64) -> bool {
        let has_room = self.open.len() < N_DEEP_MAX;
        if has_room {
            self.open.push(Open { function, ticks, lost_ticks: self.lost_ticks });
        }
        has_room
    }

    /// How long the innermost call of `function` took, if that is sure, and whether it was in no other one;
    /// calls inside it that did not end are forgotten with it.
    pub(super) fn leave(&mut self, function: u32, ticks: u64) -> Option<(u64, bool)> {
        let at = self.open.iter().rposition(|open| open.function == function)?;
        let Open { ticks: entered, lost_ticks, .. } = self.open[at];
        self.open.truncate(at);
        let took = ticks.saturating_sub(entered);
        let lost_ticks = self.lost_ticks - lost_ticks;
        let is_sure = lost_ticks.saturating_mul(GAPS_WITHIN) <= took;
        is_sure.then(|| (took, self.open.iter().all(|open| open.function != function)))
    }
}
