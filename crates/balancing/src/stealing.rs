//! `stealing`: a node with room asks another one, drawn at random, for half of its waiting tasks.
//!
//! Work stealing after Blumofe and Leiserson (1999), between nodes. A node where tasks were left is asked again.
//! Nothing is announced; an idle node asks less and less often, from every 50 ms to every 2 s, until it finds
//! tasks.

use crate::rule::{Rule, RuleSpec};
use crate::turn::Turn;
use crate::{Moment, NodeId};

pub(crate) const SPEC: RuleSpec = RuleSpec {
    form: "stealing",
    example: Rule::Stealing,
    sentence: "a node with room asks others at random for half of what waits there",
    is_of_source: false,
};

const PAUSE_MIN_MS: u64 = 50;
const PAUSE_MAX_MS: u64 = 2_000;

/// Choice of the node to ask next, and of the time.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    next_ms: u64,
    until: Moment,
    /// Node that still had tasks after it gave some.
    rich: Option<NodeId>,
}

impl Default for Search {
    fn default() -> Self {
        Self { next_ms: PAUSE_MIN_MS, until: Moment(0), rich: None }
    }
}

impl Search {
    /// Ends the pause, since there is room again.
    pub(crate) fn begin_anew(&mut self) {
        (self.next_ms, self.until) = (PAUSE_MIN_MS, Moment(0));
    }

    pub(crate) fn found(&mut self, from: NodeId, n_left: u32) {
        self.begin_anew();
        self.rich = (0 < n_left).then_some(from);
    }

    /// Begins a pause after an empty answer; returns when to ask again.
    pub(crate) fn rest(&mut self, now: Moment) -> Moment {
        self.rich = None;
        self.until = now.plus_ms(self.next_ms);
        self.next_ms = (2 * self.next_ms).min(PAUSE_MAX_MS);
        self.until
    }

    /// Returns the node to ask, if it is time.
    pub(crate) fn victim(&self, turn: &mut Turn<'_>) -> Option<NodeId> {
        if turn.now < self.until {
            return None;
        }
        let rich = self.rich.filter(|node| turn.node.circle.reaches(*node));
        rich.or_else(|| turn.node.circle.pick(&mut turn.node.random))
    }
}
