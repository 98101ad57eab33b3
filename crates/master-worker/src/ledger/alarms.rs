//! What is to be looked at when.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Whether a worker that computes this chunk needs the next one.
    Prefetch { worker: u32, chunk: u64 },
    /// Whether a worker is silent for too long.
    Watch { worker: u32 },
}

/// Alarms by time.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    timed: BinaryHeap<Reverse<Timed>>,
    /// When to look whether something can be taken back.
    look_s: Option<f64>,
}

#[derive(Debug)]
struct Timed {
    at_s: f64,
    alarm: Alarm,
}

impl Alarms {
    pub(crate) fn set(&mut self, at_s: f64, alarm: Alarm) {
        self.timed.push(Reverse(Timed { at_s, alarm }));
    }

    /// An alarm whose time has come.
    pub(crate) fn due(&mut self, now_s: f64) -> Option<Alarm> {
        self.look_s = self.look_s.filter(|look_s| now_s < *look_s);
        self.timed.peek().filter(|Reverse(next)| next.at_s <= now_s)?;
        self.timed.pop().map(|Reverse(timed)| timed.alarm)
    }

    /// Sees to it that somebody looks again then.
    pub(crate) fn look_at(&mut self, at_s: f64) {
        self.look_s = Some(self.look_s.map_or(at_s, |known_s| known_s.min(at_s)));
    }

    /// When something is due next.
    pub(crate) fn next_s(&self) -> Option<f64> {
        let next_s = self.timed.peek().map(|Reverse(timed)| timed.at_s);
        [next_s, self.look_s].into_iter().flatten().reduce(f64::min)
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at_s.total_cmp(&other.at_s)
    }
}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timed {}
