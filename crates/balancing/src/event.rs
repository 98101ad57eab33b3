//! `event`: a node announces when it becomes or ceases to be a receiver (J. thesis 2012, 4.4.2.3 and table 3.2).

use crate::rule::{Rule, RuleSpec};
use crate::turn::Turn;
use crate::{LoadState, Message};

pub(crate) const SPEC: RuleSpec = RuleSpec {
    form: "event",
    example: Rule::Event,
    sentence: "a node tells when it becomes or ceases to be a receiver",
    is_of_source: true,
};

/// Announces a change of state.
pub(crate) fn on_change(turn: &mut Turn<'_>) {
    let (new, old) = (turn.node.state, turn.node.previous);
    if (new == LoadState::Receiver) != (old == LoadState::Receiver) {
        turn.tell_all(Message::State { new, old });
    }
}
