//! Offset of a node's clock from the analyzer's, estimated from questions and answers over the network.
//!
//! The node wrote its answer at some time between the question and the arrival; taking the middle is wrong by at
//! most half the round trip, so the fastest answer is the most accurate (as in NTP).

use run_record::measured::NodeClock;
use std::collections::HashMap;

/// Number of answers after which occasional questions are enough.
const N_ANSWERS_FIRST: u32 = 16;
/// Maximum number of open questions.
const N_OPEN_MAX: usize = 16;

/// Estimate of one node's clock offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockOffset {
    asked_ns: HashMap<u32, u64>,
    next_probe: u32,
    best: Option<NodeClock>,
    n_answers: u32,
}

impl ClockOffset {
    /// Returns the number of a new question, asked at `now_ns`.
    pub(crate) fn ask(&mut self, now_ns: u64) -> u32 {
        if N_OPEN_MAX <= self.asked_ns.len() {
            self.asked_ns.clear();
        }
        let probe = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.asked_ns.insert(probe, now_ns);
        probe
    }

    /// Processes the answer to question `probe` that arrived at `now_ns`.
    pub(crate) fn answer(&mut self, probe: u32, node_ns: u64, now_ns: u64) {
        let Some(asked_ns) = self.asked_ns.remove(&probe) else { return };
        self.n_answers = self.n_answers.saturating_add(1);
        let round_trip_ns = now_ns.saturating_sub(asked_ns);
        let middle_ns = asked_ns + round_trip_ns / 2;
        let offset_ns = middle_ns.wrapping_sub(node_ns).cast_signed();
        if self.best.as_ref().is_none_or(|best| round_trip_ns < best.round_trip_ns) {
            self.best = Some(NodeClock { offset_ns, round_trip_ns, ..NodeClock::default() });
        }
    }

    /// Returns whether the next question should follow at once, since a short run may end before the next regular one.
    pub(crate) fn wants_more(&self) -> bool {
        self.n_answers < N_ANSWERS_FIRST
    }

    /// Returns the estimate for `node` from the fastest answer; all 0 before the first one.
    pub(crate) fn estimate(&self, node: &str) -> NodeClock {
        NodeClock { node: node.to_owned(), ..self.best.clone().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answers: &[(u64, u64, u64)], expected: (i64, u64)) {
        let mut clock = ClockOffset::default();
        for (asked_ns, node_ns, arrived_ns) in answers {
            let probe = clock.ask(*asked_ns);
            clock.answer(probe, *node_ns, *arrived_ns);
        }
        let NodeClock { node, offset_ns, round_trip_ns } = clock.estimate("n");
        assert_eq!((node.as_str(), (offset_ns, round_trip_ns)), ("n", expected));
    }

    #[test]
    fn the_fastest_answer_counts() {
        check(&[], (0, 0));
        check(&[(100, 1050, 200)], (-900, 100));
        check(&[(1000, 50, 1200)], (1050, 200));
        check(&[(100, 1080, 200), (300, 1205, 310), (400, 1444, 500)], (-900, 10));
    }

    #[test]
    fn an_answer_that_nobody_asked_for_says_nothing() {
        let mut clock = ClockOffset::default();
        clock.answer(7, 1, 2);
        assert_eq!(clock.best, None);
    }
}
