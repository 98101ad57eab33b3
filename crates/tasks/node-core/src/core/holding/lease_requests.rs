//! Requests to homes to renew leases, until they are answered.

use std::collections::{BTreeMap, VecDeque};

use balancing_policies::Moment;

use crate::core::turn::Turn;
use crate::interface::{InstanceId, NodeId, PeerMessage};

/// Most requests to one home whose answers are accepted.
const N_REQUESTS_MAX: usize = 32;

/// Open requests.
#[derive(Debug)]
pub(super) struct LeaseRequests {
    open: BTreeMap<NodeId, VecDeque<LeaseRequest>>,
    incarnation: u64,
    next: u64,
}

/// Request to keep tasks; an answer renews their leases from the moment at which it was sent.
#[derive(Debug)]
pub(super) struct LeaseRequest {
    number: u64,
    pub(super) sent: Moment,
    pub(super) shares: Vec<InstanceId>,
}

impl LeaseRequests {
    /// No request. An answer to a request of an earlier daemon matches none with a number from `first` on.
    pub(super) fn new(incarnation: u64, first: u64) -> Self {
        Self { open: BTreeMap::new(), incarnation, next: first }
    }

    pub(super) fn send(
        &mut self,
        home: NodeId,
        shares: Vec<InstanceId>,
        whole: bool,
        turn: &mut Turn<'_>,
    ) {
        let (number, incarnation) = (self.next, self.incarnation);
        self.next = number.wrapping_add(1);
        let requests = self.open.entry(home).or_default();
        if requests.len() == N_REQUESTS_MAX {
            requests.pop_front();
        }
        requests.push_back(LeaseRequest { number, sent: turn.now.moment, shares: shares.clone() });
        turn.out.send(home, PeerMessage::Renew { number, incarnation, whole, shares });
    }

    /// Removes the request that a home answers.
    pub(super) fn answered(&mut self, home: NodeId, number: u64) -> Option<LeaseRequest> {
        let requests = self.open.get_mut(&home)?;
        let idx = requests.iter().position(|request| request.number == number)?;
        requests.remove(idx)
    }
}
