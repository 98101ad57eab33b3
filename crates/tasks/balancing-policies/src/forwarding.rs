//! `forwarding:HOPS`: like `event`, and nodes that take nothing pass requests on.
//!
//! In overlapping domains of the source a node reaches its neighbors only, and keeps its tasks when all of them are
//! busy. Here a busy neighbor passes the request on to a receiver that it knows, or to any other neighbor, up to
//! HOPS times; the node that takes tasks answers the origin of the request, and tasks go there directly.

use crate::call_context::CallContext;
use crate::event;
use crate::receivers::{N_CANDIDATES_MAX, Receivers};
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::sender_initiated::{PendingRequest, SenderRule};
use crate::{NodeId, PolicyMessage};

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "forwarding",
    form: "forwarding[:HOPS]",
    example: "forwarding:4",
    sentence: "as event, and busy nodes pass requests on, HOPS times at most",
    is_of_source: false,
    parameters: Parameters::Count { needs: "a number of hops from 1 to 64", default: 4 },
    initiative: Initiative::Sender(|[n_hops, _]| {
        Box::new(Forwarding { n_hops: u8::try_from(n_hops).unwrap_or(u8::MAX) })
    }),
};

/// Random draws for another node before giving up.
const N_DRAWS: u32 = 8;

#[derive(Debug)]
struct Forwarding {
    n_hops: u8,
}

impl SenderRule for Forwarding {
    fn on_change(&mut self, call: &mut CallContext<'_>) {
        event::announce_change(call);
    }

    fn announces_changes_only(&self) -> bool {
        true
    }

    fn is_eager(&self) -> bool {
        true
    }

    fn n_hops(&self) -> u8 {
        self.n_hops
    }

    /// Draws among the nodes known to have room first.
    fn pass_on(
        &self,
        receivers: &Receivers,
        call: &mut CallContext<'_>,
        from: NodeId,
        request: PendingRequest,
    ) -> bool {
        let PendingRequest { operation, n_tasks, origin, n_hops } = request;
        let known = receivers.known();
        for draw in 0..N_DRAWS {
            let random = &mut call.node.random;
            let next = if draw < N_DRAWS / 2 && !known.is_empty() {
                Some(known[random.below(known.len())])
            } else {
                call.node.domain_members.pick(random)
            };
            if let Some(next) = next.filter(|next| *next != from && *next != origin) {
                let n_hops = n_hops - 1;
                call.send(next, PolicyMessage::Request { operation, n_tasks, origin, n_hops });
                return true;
            }
        }
        false
    }

    /// Asks random nodes of the domain.
    fn ask_strangers(&self, call: &mut CallContext<'_>, message: PolicyMessage) -> u32 {
        let mut asked = [None; N_CANDIDATES_MAX];
        let mut n_asked = 0;
        for _ in 0..N_DRAWS {
            let drawn = call.node.domain_members.pick(&mut call.node.random);
            if n_asked < N_CANDIDATES_MAX && drawn.is_some() && !asked.contains(&drawn) {
                asked[n_asked] = drawn;
                n_asked += 1;
            }
        }
        asked.iter().flatten().for_each(|stranger| call.send(*stranger, message));
        u32::try_from(n_asked).unwrap_or(u32::MAX)
    }
}
