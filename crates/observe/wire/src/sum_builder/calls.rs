//! Open calls of a thread, tracked by its records of entries and exits.
//!
//! # Invariants
//! - At most [`N_DEEP_MAX`] open calls are remembered; a batch lists only the outermost ones.
//! - A call that spans dropped records is timed only if the gaps are a small part of it: its exit may
//!   belong to a later call.

use crate::summary::N_OPEN_MAX;
use std::collections::VecDeque;

/// Maximum number of open calls remembered per thread.
pub(super) const N_DEEP_MAX: usize = 1024;
/// Minimum ratio of a call's duration to the gaps in it; otherwise it has no duration.
const GAPS_WITHIN: u64 = 8;

/// Call that has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    function: u32,
    ticks: u64,
    /// Value of [`Calls::lost_ticks`] at its entry.
    lost_ticks: u64,
}

/// Open calls and progress of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Open calls, outermost first.
    open: Vec<Open>,
    /// Numbers of records before which records were dropped.
    gaps: VecDeque<u64>,
    /// Total ticks in gaps so far.
    lost_ticks: u64,
    /// Ticks of the last event.
    last_ticks: u64,
    /// Number of the first record that is not yet in a batch held by the analyzer.
    pub(super) resumes_at: u64,
    /// Batch in which the thread has a range, and the position of the range.
    pub(super) range: (u64, usize),
    /// End of its last range.
    pub(super) range_end: Option<u64>,
}

impl Calls {
    /// Resumes with records from `end` on, at which the thread was in the calls `open`.
    pub fn resume(&mut self, position: u64, end: u64, open: Vec<(u32, u64)>) {
        *self = Self::default();
        if position <= end {
            self.resumes_at = end;
            self.range_end = Some(end);
            let open = open.into_iter().take(N_OPEN_MAX);
            let open = open.map(|(function, ticks)| Open { function, ticks, lost_ticks: 0 });
            self.open = open.collect();
        }
    }

    /// Notes that records were dropped before record number `at`.
    pub fn lack_before(&mut self, at: u64) {
        if self.gaps.len() < N_DEEP_MAX {
            self.gaps.push_back(at);
        }
    }

    /// Moves on to an event with its number and ticks.
    pub(super) fn go_on(&mut self, number: u64, ticks: u64) {
        while self.gaps.front().is_some_and(|gap| *gap <= number) {
            self.gaps.pop_front();
            self.lost_ticks += ticks.saturating_sub(self.last_ticks);
            self.last_ticks = ticks;
        }
        self.last_ticks = ticks;
    }

    /// Returns the outermost open calls: function and ticks of the entry.
    pub(super) fn outer(&self) -> impl Iterator<Item = (u32, u64)> {
        self.open.iter().take(N_OPEN_MAX).map(|open| (open.function, open.ticks))
    }

    /// Enters `function`; returns whether the call is remembered.
    pub(super) fn enter(&mut self, function: u32, ticks: u64) -> bool {
        let has_room = self.open.len() < N_DEEP_MAX;
        if has_room {
            self.open.push(Open { function, ticks, lost_ticks: self.lost_ticks });
        }
        has_room
    }

    /// Leaves the innermost call of `function`; returns its duration, if reliable, and whether it was in no other
    /// call of `function`. Calls inside it that did not end are dropped.
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
