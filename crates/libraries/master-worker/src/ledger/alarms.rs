//! Timers of the ledger.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Time until the second check of a late worker, which then counts as missing, in seconds.
pub(super) const LOOK_AGAIN_S: f64 = 0.5;

/// Check that is due at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Check whether a worker that computes needs another chunk.
    Prefetch { worker: u32 },
    /// Check whether a worker has been silent for too long.
    Watch { worker: u32 },
}

/// Alarms in order of time.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    timed: BinaryHeap<Reverse<TimedAlarm>>,
    /// Time of the next check whether a chunk can be taken back, in seconds.
    look_s: Option<f64>,
}

#[derive(Debug)]
struct TimedAlarm {
    at_s: f64,
    alarm: Alarm,
}

impl Alarms {
    pub(crate) fn set(&mut self, at_s: f64, alarm: Alarm) {
        self.timed.push(Reverse(TimedAlarm { at_s, alarm }));
    }

    /// Removes and returns an alarm whose time has come.
    pub(crate) fn due(&mut self, now_s: f64) -> Option<Alarm> {
        self.look_s = self.look_s.filter(|look_s| now_s < *look_s);
        self.timed.peek().filter(|Reverse(next)| next.at_s <= now_s)?;
        self.timed.pop().map(|Reverse(timed)| timed.alarm)
    }

    /// Ensures a check for chunks to take back at `at_s`.
    pub(crate) fn look_at(&mut self, at_s: f64) {
        self.look_s = Some(self.look_s.map_or(at_s, |known_s| known_s.min(at_s)));
    }

    /// Time of the next check, in seconds.
    pub(crate) fn next_s(&self) -> Option<f64> {
        let next_s = self.timed.peek().map(|Reverse(timed)| timed.at_s);
        [next_s, self.look_s].into_iter().flatten().reduce(f64::min)
    }
}

impl Ord for TimedAlarm {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at_s.total_cmp(&other.at_s)
    }
}

impl PartialOrd for TimedAlarm {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TimedAlarm {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for TimedAlarm {}
