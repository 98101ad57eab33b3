//! `event`: a node announces when it becomes or ceases to be a receiver (J. thesis 2012, 4.4.2.3 and table 3.2).

use crate::asking::SenderRule;
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::turn::Turn;
use crate::{LoadState, Message};

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "event",
    form: "event",
    example: "event",
    sentence: "a node tells when it becomes or ceases to be a receiver",
    is_of_source: true,
    parameters: Parameters::None,
    initiative: Initiative::Sender(|_| Box::new(Event)),
};

#[derive(Debug)]
struct Event;

impl SenderRule for Event {
    fn on_change(&mut self, turn: &mut Turn<'_>) {
        announce_change(turn);
    }

    fn announces_changes_only(&self) -> bool {
        true
    }
}

/// Tells the nodes of the domain that this one has become or ceased to be a receiver, if it has.
pub(crate) fn announce_change(turn: &mut Turn<'_>) {
    let (new, old) = (turn.node.state, turn.node.previous);
    if (new == LoadState::Receiver) != (old == LoadState::Receiver) {
        turn.tell_all(Message::State { new, old });
    }
}
