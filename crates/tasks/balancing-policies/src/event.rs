//! `event`: a node announces when it becomes or ceases to be a receiver (J. thesis 2012, 4.4.2.3 and table 3.2).

use crate::call_context::CallContext;
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::sender_initiated::SenderRule;
use crate::{LoadState, PolicyMessage};

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
    fn on_change(&mut self, call: &mut CallContext<'_>) {
        announce_change(call);
    }

    fn announces_changes_only(&self) -> bool {
        true
    }
}

/// Tells the nodes of the domain that this one has become or ceased to be a receiver, if it has.
pub(crate) fn announce_change(call: &mut CallContext<'_>) {
    let (new, old) = (call.node.state, call.node.previous);
    if (new == LoadState::Receiver) != (old == LoadState::Receiver) {
        call.broadcast(PolicyMessage::State { new, old });
    }
}
