//! `on-demand`: a node that begins an operation asks all others, and builds a fresh list (J. thesis 2012, 4.4.2.2).

use crate::call_context::CallContext;
use crate::receivers::Receivers;
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::sender_initiated::SenderRule;
use crate::{LoadState, PolicyMessage};

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "on-demand",
    form: "on-demand",
    example: "on-demand",
    sentence: "a node that wants to give tasks asks all for their states first",
    is_of_source: true,
    parameters: Parameters::None,
    initiative: Initiative::Sender(|_| Box::new(OnDemand)),
};

#[derive(Debug)]
struct OnDemand;

impl SenderRule for OnDemand {
    /// Lists are built by asking, within an operation.
    fn listing(&self, _new: LoadState, _old: LoadState) -> Option<bool> {
        None
    }

    /// Forgets the list and asks all nodes.
    fn ask_states(
        &self,
        receivers: &mut Receivers,
        call: &mut CallContext<'_>,
    ) -> Option<(u32, u32)> {
        receivers.clear();
        let operation = call.node.next_operation();
        Some((operation, call.broadcast(PolicyMessage::AskState { operation })))
    }
}
