//! Offers of nodes that have announced waiting tasks.
//!
//! # Invariants
//! - At most [`N_OFFERS_MAX`]: the oldest is dropped, and its node is told so.

use crate::call_context::CallContext;
use crate::{Moment, NodeId, PolicyMessage};
use random::Random;
use std::collections::VecDeque;

const N_OFFERS_MAX: usize = 64;
/// Fewest tasks of an offer that is passed on: others may be faster.
const N_PASSED_MIN: u32 = 4;
/// Time after which an offer is no longer passed on, in ms.
const NEWS_MS: u64 = 10_000;
/// Number of unanswered pulls after which an offer is forgotten.
const N_SILENT_MAX: u8 = 5;

#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    offers: VecDeque<Offer>,
}

#[derive(Clone, Copy, Debug)]
struct Offer {
    from: NodeId,
    /// Tasks that wait there, by the last message.
    n_queued: u32,
    n_silent: u8,
    /// When it was last heard of.
    at: Moment,
}

impl Offers {
    pub(crate) fn len(&self) -> usize {
        self.offers.len()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.offers.iter().map(|offer| offer.from)
    }

    /// Adds or renews the standing offer of a node, which has only one; returns the node whose offer was dropped
    /// for it.
    pub(crate) fn set(&mut self, now: Moment, from: NodeId, n_queued: u32) -> Option<NodeId> {
        match self.offers.iter_mut().find(|offer| offer.from == from) {
            Some(offer) => {
                (offer.n_queued, offer.n_silent, offer.at) = (n_queued, 0, now);
                None
            }
            None => self.push(now, from, n_queued),
        }
    }

    /// Adds an offer of one task behind all others; returns the node whose offer was dropped for it.
    pub(crate) fn push(&mut self, now: Moment, from: NodeId, n_queued: u32) -> Option<NodeId> {
        let is_full = N_OFFERS_MAX <= self.offers.len();
        let gone = if is_full { self.pop() } else { None };
        self.offers.push_back(Offer { from, n_queued, n_silent: 0, at: now });
        gone
    }

    pub(crate) fn pop(&mut self) -> Option<NodeId> {
        self.offers.pop_front().map(|offer| offer.from)
    }

    /// Node at which most tasks wait; of several, one at random.
    pub(crate) fn best(&self, random: &mut Random) -> Option<NodeId> {
        let n = self.offers.len();
        let first = random.below(n);
        let around = (0..n).map(|k| self.offers[(first + k) % n]);
        around.max_by_key(|offer| offer.n_queued).map(|offer| offer.from)
    }

    /// Node other than `except` at which most tasks wait, and how many, by what was heard lately.
    pub(crate) fn most(&self, now: Moment, except: NodeId) -> Option<(NodeId, u32)> {
        let is_news = |offer: &&Offer| {
            offer.from != except
                && N_PASSED_MIN <= offer.n_queued
                && now.ms_since(offer.at) <= NEWS_MS
        };
        let others = self.offers.iter().filter(is_news);
        others.max_by_key(|offer| offer.n_queued).map(|offer| (offer.from, offer.n_queued))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }

    pub(crate) fn remove(&mut self, from: NodeId) {
        self.offers.retain(|offer| offer.from != from);
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(NodeId) -> bool) {
        self.offers.retain(|offer| is_kept(offer.from));
    }

    /// Notes that a pull from this node was not answered.
    pub(crate) fn silent(&mut self, from: NodeId) {
        for offer in self.offers.iter_mut().filter(|offer| offer.from == from) {
            (offer.n_silent, offer.n_queued) = (offer.n_silent + 1, 0);
        }
        self.offers.retain(|offer| offer.n_silent < N_SILENT_MAX);
    }
}

/// Tells the node of a dropped offer so, by a pull of no tasks.
pub(crate) fn give_up(call: &mut CallContext<'_>, gone: Option<NodeId>) {
    if let Some(gone) = gone {
        call.node.counts.dropped += 1;
        call.send(gone, PolicyMessage::Pull { operation: 0, n_tasks_max: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_queue_is_pulled_from() {
        let (mut offers, mut random) = (Offers::default(), Random::stream(1, 0));
        assert_eq!(offers.best(&mut random), None);
        for (from, n_queued) in [(1, 5), (2, 9), (3, 1), (2, 4)] {
            assert_eq!(offers.set(Moment(0), NodeId(from), n_queued), None);
        }
        assert_eq!(offers.best(&mut random), Some(NodeId(1)));
        offers.silent(NodeId(1));
        assert_eq!(offers.best(&mut random), Some(NodeId(2)));
        (1..5).for_each(|_| offers.silent(NodeId(1)));
        assert_eq!(offers.nodes().collect::<Vec<_>>(), [NodeId(2), NodeId(3)]);
    }

    #[test]
    fn offers_have_a_bound_and_probes_an_order() {
        let mut offers = Offers::default();
        let n_dropped =
            (0..300).filter(|from| offers.push(Moment(0), NodeId(*from), 1).is_some()).count();
        assert_eq!((offers.len(), n_dropped), (64, 236));
        assert_eq!(offers.pop(), Some(NodeId(236)));
    }
}
