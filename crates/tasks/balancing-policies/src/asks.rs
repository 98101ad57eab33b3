//! Questions to nodes drawn at random, by a node that had tasks of others and has run out of offers.
//!
//! A node that is asked and has no tasks names the best offer that it knows, so news of a long queue spreads from node to
//! node where its own node has not told all, or was not heard.
//!
//! # Invariants
//! - A node that was never given a task asks nobody, and none asks for ever: an idle cluster is silent.

use crate::Moment;

/// Pause after the first question, in ms; doubled after each.
const PAUSE_MS: u64 = 100;
/// Fewest questions of one round; with more nodes there are more.
const N_ASKS_MIN: u32 = 3;

/// Questions of a round, and the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asks {
    /// Whether a task of another node was granted here.
    is_served: bool,
    n_left: u32,
    pause_ms: u64,
    until: Moment,
}

impl Asks {
    /// Notes that tasks were granted.
    pub(crate) fn served(&mut self) {
        self.is_served = true;
    }

    /// Begins a round among this many nodes, unless one is under way.
    pub(crate) fn begin(&mut self, n_nodes: usize) {
        if self.n_left == 0 && self.is_served {
            let n_asks = 2 * n_nodes.max(1).ilog2() / 3;
            (self.n_left, self.pause_ms) = (n_asks.max(N_ASKS_MIN), PAUSE_MS);
            self.until = Moment::default();
        }
    }

    /// Returns whether a node is to be asked now, and counts it.
    pub(crate) fn is_due(&mut self, now: Moment) -> bool {
        let is_due = 0 < self.n_left && self.until <= now;
        self.n_left -= u32::from(is_due);
        is_due
    }

    /// Begins the pause before the next question, and returns its end; `None` where there is no next one.
    pub(crate) fn rest(&mut self, now: Moment) -> Option<Moment> {
        (0 < self.n_left).then(|| {
            self.until = now.plus_ms(self.pause_ms);
            self.pause_ms *= 2;
            self.until
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_given_tasks_asks_a_few_times() {
        let (mut asks, mut now) = (Asks::default(), Moment::default());
        asks.begin(32);
        assert!(!asks.is_due(now) && asks.rest(now).is_none());
        asks.served();
        asks.begin(32);
        for pause_ms in [100, 200] {
            assert!(asks.is_due(now));
            let until = asks.rest(now).unwrap();
            assert_eq!(until, now.plus_ms(pause_ms));
            assert!(!asks.is_due(now));
            now = until;
        }
        assert!(asks.is_due(now) && asks.rest(now).is_none() && !asks.is_due(now));
        asks.begin(100_000);
        let n_asked = (0..60).filter(|minute| asks.is_due(now.plus_ms(60_000 * minute))).count();
        assert_eq!(n_asked, 10);
    }
}
