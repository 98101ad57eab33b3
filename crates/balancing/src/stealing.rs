//! `stealing`: a node with room asks another, drawn at random, for half of what waits there.
//!
//! Work stealing as of Blumofe and Leiserson (1999), between nodes. Nobody is told anything; an idle node asks less
//! and less often, from every 50 ms to every 2 s, until it finds something.

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

/// How long a node rests between two attempts.
#[derive(Clone, Debug)]
pub(crate) struct Pauses {
    next_ms: u64,
    until: Moment,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next_ms: PAUSE_MIN_MS, until: Moment(0) }
    }
}

impl Pauses {
    /// There is something new: no rest.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// Nothing was found; when to ask again.
    pub(crate) fn begin(&mut self, now: Moment) -> Moment {
        self.until = now.plus_ms(self.next_ms);
        self.next_ms = (2 * self.next_ms).min(PAUSE_MAX_MS);
        self.until
    }

    /// Whom to ask, if it is time.
    pub(crate) fn victim(&self, turn: &mut Turn<'_>) -> Option<NodeId> {
        if turn.now < self.until { None } else { turn.node.circle.pick(&mut turn.node.random) }
    }
}
