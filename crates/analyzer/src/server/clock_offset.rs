//! How far a node's clock is from the analyzer's, from questions and answers over the network.
//!
//! The node's answer was written somewhere between question and arrival; taking the middle is wrong by at
//! most half the round trip, so the fastest answer tells most (as NTP does).

use std::collections::HashMap;

/// Answers after which a single question now and then is enough.
const N_ANSWERS_FIRST: u32 = 16;
/// Questions that may be open at the same time.
const N_OPEN_MAX: usize = 16;

/// What the answers of one node say.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    asked_ns: HashMap<u32, u64>,
    next_probe: u32,
    best: Option<Estimate>,
    n_answers: u32,
}

/// A node's clock against the analyzer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// To add to a time of the node.
    pub offset_ns: i64,
    /// The offset is right within half of this.
    pub round_trip_ns: u64,
}

impl ClockOffset {
    /// The number of a question asked at `now_ns`.
    pub fn ask(&mut self, now_ns: u64) -> u32 {
        if N_OPEN_MAX <= self.asked_ns.len() {
            self.asked_ns.clear();
        }
        let probe = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.asked_ns.insert(probe, now_ns);
        probe
    }

    /// Takes the answer to question `probe` that arrived at `now_ns`.
    pub fn answer(&mut self, probe: u32, node_ns: u64, now_ns: u64) {
        let Some(asked_ns) = self.asked_ns.remove(&probe) else { return };
        self.n_answers = self.n_answers.saturating_add(1);
        let round_trip_ns = now_ns.saturating_sub(asked_ns);
        let middle_ns = asked_ns + round_trip_ns / 2;
        let offset_ns = middle_ns.wrapping_sub(node_ns).cast_signed();
        if self.best.is_none_or(|best| round_trip_ns < best.round_trip_ns) {
            self.best = Some(Estimate { offset_ns, round_trip_ns });
        }
    }

    /// Whether the next question should follow at once: a run may be over before the next in turn.
    pub fn wants_more(&self) -> bool {
        self.n_answers < N_ANSWERS_FIRST
    }

    /// What the fastest answer says.
    pub fn best(&self) -> Option<Estimate> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answers: &[(u64, u64, u64)], expected: Option<(i64, u64)>) {
        let mut clock = ClockOffset::default();
        for (asked_ns, node_ns, arrived_ns) in answers {
            let probe = clock.ask(*asked_ns);
            clock.answer(probe, *node_ns, *arrived_ns);
        }
        let expected =
            expected.map(|(offset_ns, round_trip_ns)| Estimate { offset_ns, round_trip_ns });
        assert_eq!(clock.best(), expected);
    }

    #[test]
    fn the_fastest_answer_counts() {
        check(&[], None);
        check(&[(100, 1050, 200)], Some((-900, 100)));
        check(&[(1000, 50, 1200)], Some((1050, 200)));
        check(&[(100, 1080, 200), (300, 1205, 310), (400, 1444, 500)], Some((-900, 10)));
    }

    #[test]
    fn an_answer_that_nobody_asked_for_says_nothing() {
        let mut clock = ClockOffset::default();
        clock.answer(7, 1, 2);
        assert_eq!(clock.best(), None);
    }
}
