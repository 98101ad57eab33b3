//! How long a question and its answer take, by those that were answered, and how long an answer is waited for.
//!
//! # Invariants
//! - An answer that comes too late counts as well: a network that is slower than was assumed is learnt from it.

use crate::{Moment, NodeId};
use std::collections::VecDeque;

/// Time within which an answer has to come as long as none has come, in ms.
const FIRST_MS: u64 = 1_000;
/// Bounds of this time.
const LEAST_MS: u64 = 250;
const MOST_MS: u64 = 60_000;
/// Number of round trips that an answer may take.
const N_ROUND_TRIPS: u64 = 2;
/// Share of a shorter round trip in the estimate, as a divisor; a longer one counts at once.
const N_SMOOTHED: u64 = 8;
/// Questions without an answer that are remembered.
const N_LATE_MAX: usize = 8;

/// Round trip of questions to other nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrip {
    ms: Option<u64>,
    /// Questions whose time is over.
    late: VecDeque<(NodeId, u32, Moment)>,
}

impl RoundTrip {
    /// Returns how long an answer is waited for, in ms.
    pub(crate) fn patience_ms(&self) -> u64 {
        self.ms.map_or(FIRST_MS, |ms| (N_ROUND_TRIPS * ms).clamp(LEAST_MS, MOST_MS))
    }

    /// Notes an answer to a question that was asked at `began`.
    pub(crate) fn answered(&mut self, now: Moment, began: Moment) {
        let ms = now.ms_since(began);
        let known = self.ms.unwrap_or(ms);
        let shorter = (N_SMOOTHED - 1) * known + ms;
        self.ms = Some(if known < ms { ms } else { shorter / N_SMOOTHED });
    }

    /// Notes that the time of a question is over.
    pub(crate) fn unanswered(&mut self, to: NodeId, operation: u32, began: Moment) {
        if N_LATE_MAX <= self.late.len() {
            self.late.pop_front();
        }
        self.late.push_back((to, operation, began));
    }

    /// Notes an answer whose question was given up.
    pub(crate) fn late(&mut self, now: Moment, from: NodeId, operation: u32) {
        let is_it = |(to, number, _): &(NodeId, u32, Moment)| (*to, *number) == (from, operation);
        if let Some(at) = self.late.iter().position(is_it)
            && let Some((_, _, began)) = self.late.remove(at)
        {
            self.answered(now, began);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Moment {
        Moment(0).plus_ms(ms)
    }

    #[test]
    fn an_answer_may_take_two_round_trips() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.patience_ms(), 1_000);
        round_trip.answered(ms(1), ms(0));
        assert_eq!(round_trip.patience_ms(), 250);
        round_trip.answered(ms(500), ms(0));
        assert_eq!(round_trip.patience_ms(), 1_000);
        round_trip.answered(ms(100), ms(0));
        assert_eq!(round_trip.patience_ms(), 900);
    }

    #[test]
    fn a_late_answer_counts_once() {
        let mut round_trip = RoundTrip::default();
        (0..9).for_each(|number| round_trip.unanswered(NodeId(1), number, ms(0)));
        round_trip.late(ms(2_000), NodeId(2), 8);
        round_trip.late(ms(2_000), NodeId(1), 0);
        assert_eq!(round_trip.patience_ms(), 1_000);
        round_trip.late(ms(2_000), NodeId(1), 8);
        assert_eq!(round_trip.patience_ms(), 4_000);
        round_trip.late(ms(20_000), NodeId(1), 8);
        assert_eq!(round_trip.patience_ms(), 4_000);
    }
}
