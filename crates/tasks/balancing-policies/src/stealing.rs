//! `stealing`: a node with room asks another one, drawn at random, for half of its waiting tasks.
//!
//! Work stealing after Blumofe and Leiserson (1999), between nodes. A node where tasks were left is asked again.
//! Nothing is announced; an idle node asks less and less often, from every 50 ms to every 2 s, until it finds
//! tasks.

use crate::call_context::CallContext;
use crate::receiver_initiated::{Granted, ReceiverRule};
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::{Moment, NodeId};

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "stealing",
    form: "stealing",
    example: "stealing",
    sentence: "a node with room asks others at random for half of what waits there",
    is_of_source: false,
    parameters: Parameters::None,
    initiative: Initiative::Receiver(|_| Box::<Stealing>::default()),
};

const PAUSE_MIN_MS: u64 = 50;
const PAUSE_MAX_MS: u64 = 2_000;

#[derive(Debug)]
struct Stealing {
    next_ms: u64,
    until: Moment,
    /// Node that still had tasks after it gave some.
    rich: Option<NodeId>,
}

impl Default for Stealing {
    fn default() -> Self {
        Self { next_ms: PAUSE_MIN_MS, until: Moment(0), rich: None }
    }
}

impl ReceiverRule for Stealing {
    /// Ends the pause.
    fn on_room(&mut self, _n_nodes: usize) {
        (self.next_ms, self.until) = (PAUSE_MIN_MS, Moment(0));
    }

    fn n_given_max(&self, n_queued: u32, n_asked: u32) -> u32 {
        n_queued.div_ceil(2).min(n_asked)
    }

    fn on_granted(&mut self, _turn: &mut CallContext<'_>, from: NodeId, granted: Granted) {
        (self.next_ms, self.until) = (PAUSE_MIN_MS, Moment(0));
        self.rich = (0 < granted.n_left).then_some(from);
    }

    fn source(&mut self, call: &mut CallContext<'_>) -> Option<NodeId> {
        if call.now < self.until {
            return None;
        }
        let rich = self.rich.filter(|node| call.node.domain_members.reaches(*node));
        rich.or_else(|| call.node.domain_members.pick(&mut call.node.random))
    }

    fn rest(&mut self, now: Moment) -> Option<Moment> {
        self.rich = None;
        self.until = now.plus_ms(self.next_ms);
        self.next_ms = (2 * self.next_ms).min(PAUSE_MAX_MS);
        Some(self.until)
    }
}
