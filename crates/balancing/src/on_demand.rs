//! `on-demand`: a node that begins an operation asks all others, and builds a fresh list (J. thesis 2012, 4.4.2.2).

use crate::Message;
use crate::receivers::Receivers;
use crate::rule::{Rule, RuleSpec};
use crate::turn::Turn;

pub(crate) const SPEC: RuleSpec = RuleSpec {
    form: "on-demand",
    example: Rule::OnDemand,
    sentence: "a node that wants to give tasks asks all for their states first",
    is_of_source: true,
};

/// Forgets the list and asks; returns how many nodes were asked.
pub(crate) fn ask(receivers: &mut Receivers, turn: &mut Turn<'_>, operation: u32) -> u32 {
    receivers.clear();
    turn.tell_all(Message::AskState { operation })
}
