//! Lends tasks to other nodes, and takes back those that are not taken, not renewed, or given back.
//!
//! A task that is given is *offered* until the other node has asked to renew it: only then is that node told that
//! it may start, so an unanswered offer is taken back at once. From then on it is *leased*: it returns when the
//! node gives it back, or has not asked for longer than it may run without an answer.
//!
//! A lease that a damaged journal has lost may still be held. Its node reports it when it is linked, and gets it
//! again; a node that does not report it has lost it after as long as any lease lasts. So a task that the journal has
//! forgotten does not run twice.

mod packing;

use super::node::N_SHARES_MAX;
use super::placing::Refusals;
use super::turn::Turn;
use crate::book::{Book, EndRecord, JournalRecord, Lease, Reason};
use crate::interface::{InstanceId, NodeId, NodeSpan, PeerMessage, SharedEnd, Work};
use balancing_policies::Moment;
use packing::{Packing, n_cores_of, pack, pack_one};
use std::collections::{BTreeMap, BTreeSet};
use task_api::Demand;

/// Time for which an offer is open, in ms.
const OFFER_MS: u64 = 2_000;
/// Most open offers: beyond that no more are made.
const N_OFFERS_MAX: usize = 4096;

/// Open offers, and the nodes that have reported what they hold.
#[derive(Debug, Default)]
pub(super) struct Lending {
    offers: BTreeMap<u64, Offer>,
    n_offers: u64,
    /// Nodes that had no room for tasks that ask for more than a core.
    pub(super) refusals: Refusals,
    /// Newest incarnation of each node that has reported all that it holds.
    whole: BTreeMap<NodeId, u64>,
}

#[derive(Debug)]
struct Offer {
    to: NodeId,
    shares: Vec<InstanceId>,
    sent: Moment,
    /// Cores that the tasks ask for in all.
    n_cores: u32,
}

/// Daemon that tasks are offered to.
#[derive(Clone, Copy)]
struct Receiver {
    id: NodeId,
    incarnation: u64,
}

/// Request of a node that holds tasks of this one.
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) number: u64,
    pub(super) incarnation: u64,
    pub(super) whole: bool,
    pub(super) shares: Vec<InstanceId>,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfferResult {
    pub(super) to: NodeId,
    /// Cores that the offered tasks ask for.
    pub(super) n_offered: u32,
    /// Cores that those of them ask for that the other node has taken.
    pub(super) n_taken: u32,
}

impl Lending {
    /// Offers waiting tasks of this node that need up to `n_cores` cores in all, and that the other node can run; returns
    /// the number of their cores.
    pub(super) fn lend(&mut self, to: NodeId, n_cores: u32, turn: &mut Turn<'_>) -> u32 {
        let Some(member) = turn.node.peers.get(to).filter(|_| turn.node.peers.is_up(to)) else {
            return 0;
        };
        let receiver = Receiver { id: to, incarnation: member.incarnation };
        let (capacity, now) = (member.capacity.clone(), turn.now.moment);
        let mut n_offered = 0;
        while n_offered < n_cores && self.offers.len() < N_OFFERS_MAX {
            let refusals = &self.refusals;
            let has_room = |demand: Option<&Demand>, n_left: u32| match demand {
                None => true,
                Some(it) => {
                    let is_small = it.cpus_min() <= n_left && it.fits(&capacity);
                    is_small && !refusals.holds(to, demand, now)
                }
            };
            let packing = pack(receiver, n_cores - n_offered, has_room, turn);
            let n_more = self.offer(receiver, packing, turn);
            if n_more == 0 {
                break;
            }
            n_offered += n_more;
        }
        n_offered
    }

    /// Offers up to `n_tasks` waiting tasks of this node that ask for just this; returns how many.
    pub(super) fn lend_class(
        &mut self,
        to: NodeId,
        n_tasks: u32,
        demand: &Demand,
        turn: &mut Turn<'_>,
    ) -> u32 {
        let member = turn.node.peers.get(to).filter(|_| turn.node.peers.is_up(to));
        let Some(member) = member.filter(|_| self.offers.len() < N_OFFERS_MAX) else { return 0 };
        let receiver = Receiver { id: to, incarnation: member.incarnation };
        let n_each = demand.cpus_min().max(1);
        let is_it = |it: Option<&Demand>, _: u32| it == Some(demand);
        let packing = pack(receiver, n_tasks.saturating_mul(n_each), is_it, turn);
        self.offer(receiver, packing, turn) / n_each
    }

    /// Offers a task that has room on several nodes to the one of them that shall start it.
    pub(super) fn lend_span(
        &mut self,
        to: NodeId,
        number: u64,
        span: NodeSpan,
        turn: &mut Turn<'_>,
    ) {
        let member = turn.node.peers.get(to).filter(|_| turn.node.peers.is_up(to));
        let Some(member) = member.filter(|_| self.offers.len() < N_OFFERS_MAX) else { return };
        let receiver = Receiver { id: to, incarnation: member.incarnation };
        let packing = pack_one(receiver, number, span, turn);
        self.offer(receiver, packing, turn);
    }

    /// Sends what was packed; returns the number of its cores.
    fn offer(&mut self, to: Receiver, packing: Packing, turn: &mut Turn<'_>) -> u32 {
        let n_cores = packing.n_cores;
        if 0 < packing.n_tasks() {
            let offer = turn.node.options.first_number().wrapping_add(self.n_offers);
            self.n_offers += 1;
            let shares = packing.shares();
            let offered = Offer { to: to.id, shares, sent: turn.now.moment, n_cores };
            self.offers.insert(offer, offered);
            let lasts_ms = |work: &Work| turn.node.book.tasks().lasts_ms(work);
            let message = packing.into_message((offer, to.incarnation), lasts_ms);
            turn.out.send(to.id, message);
        }
        n_cores
    }

    /// Handles the answer to an offer: the other node took its first `n_taken` tasks.
    pub(super) fn on_taken(
        &mut self,
        from: NodeId,
        (offer, n_taken, because): (u64, u32, Option<String>),
        turn: &mut Turn<'_>,
    ) -> Option<OfferResult> {
        let offer = self.take_offer(offer, from)?;
        self.note_room(&offer, n_taken, turn);
        let because = because.unwrap_or_else(|| "it gave no reason".to_owned());
        Some(offer.take_back(n_taken, &Reason::NotTaken(from, because.into()), turn))
    }

    /// Notes whether the other node had room for tasks that ask for more than a core.
    fn note_room(&mut self, offer: &Offer, n_taken: u32, turn: &Turn<'_>) {
        let class_at = |idx: usize| {
            let share = offer.shares.get(idx)?;
            turn.node.book.task(share.number)?.work.class.clone()
        };
        let n_taken = n_taken as usize;
        if let Some(class) = n_taken.checked_sub(1).and_then(class_at) {
            self.refusals.taken(offer.to, &class);
        }
        if let Some(class) = class_at(n_taken) {
            self.refusals.refused(offer.to, &class, turn.now.moment);
        }
    }

    /// Answers a node that asks to keep tasks of this one.
    pub(super) fn on_renew(&mut self, from: NodeId, renewal: Renewal, turn: &mut Turn<'_>) {
        let Renewal { number, incarnation, whole, shares } = renewal;
        if !turn.node.processes.ready
            && shares.iter().any(|share| may_be_lent(&turn.node.book, *share))
        {
            // This node's keeper may know better; the other node asks again soon.
            return;
        }
        if whole && self.whole.get(&from).is_none_or(|&newest| newest < incarnation) {
            self.whole.insert(from, incarnation);
            take_back_forgotten((from, incarnation), &shares, turn);
        }
        let mut gone = Vec::new();
        let mut canceled = Vec::new();
        for share in shares {
            let InstanceId { number, instance } = share;
            if turn.node.book.lease_of(from, share).is_none() && may_be_lent(&turn.node.book, share)
            {
                let (to, at_ms) = (from, turn.now.unix_ms);
                turn.record(&JournalRecord::Given { number, instance, to, incarnation, at_ms });
            }
            if turn.node.book.lease_of(from, share).is_none() {
                gone.push(share);
                continue;
            }
            let is_new = turn.node.book.renew(number, turn.now.moment, turn.now.unix_ms);
            turn.node.counts.n_moved_out += u64::from(is_new);
            turn.node.moves.add(from, u64::from(is_new));
            if turn.node.book.task(number).is_some_and(|task| task.is_cancel_requested) {
                canceled.push(share);
            }
        }
        turn.out.send(from, PeerMessage::Renewed { number, gone });
        if !canceled.is_empty() {
            turn.out.send(from, PeerMessage::Cancel(canceled));
        }
    }

    /// Takes back offers that were not answered, and tasks that were not renewed.
    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) -> Vec<OfferResult> {
        let now = turn.now.moment;
        self.refusals.tidy(now);
        let late = |offer: &mut Offer| OFFER_MS <= now.ms_since(offer.sent);
        let late = self.offers.extract_if(.., |_, offer| late(offer)).collect::<Vec<_>>();
        let take_back =
            |(_, offer): (u64, Offer)| offer.take_back(0, &Reason::Unanswered(offer.to), turn);
        let results = late.into_iter().map(take_back).collect();
        let lease_ms = turn.node.options.lease_over_ms();
        // The offer was answered, but the node never asked to renew it: the task was not started.
        let limit_ms = |lease: &Lease| if lease.confirmed { lease_ms } else { 2 * OFFER_MS };
        let is_out = |lease: &Lease| limit_ms(lease) <= now.ms_since(lease.heard);
        let leases = turn.node.book.leases().iter().filter(|(_, lease)| is_out(lease));
        for (number, lease) in leases.map(|(number, lease)| (*number, *lease)).collect::<Vec<_>>() {
            let silent = Reason::Silent(lease.to);
            let reason = if lease.confirmed { silent } else { Reason::Unanswered(lease.to) };
            turn.back(number, lease.instance, reason);
        }
        self.end_uncertainty(turn);
        results
    }

    /// Ends all uncertainty when unknown leases have expired, and all nodes that are up have reported what they hold:
    /// the remaining tasks then wait like all others.
    fn end_uncertainty(&self, turn: &mut Turn<'_>) {
        if turn.node.book.tasks().n_uncertain() == 0 || !turn.node.processes.ready {
            return;
        }
        let lease_ms = turn.node.options.lease_over_ms();
        let waited_ms = turn.now.moment.ms_since(turn.node.began.moment);
        let has_said = |id| !turn.node.peers.is_up(id) || self.whole.contains_key(&id);
        let all_have_said = turn.node.peers.iter().all(|member| has_said(member.id));
        // A node that holds very many tasks reports them in pieces, so that none of its requests is the whole.
        if lease_ms <= waited_ms && (all_have_said || 2 * lease_ms <= waited_ms) {
            turn.record(&JournalRecord::Settled { first: 1, last: u64::MAX });
        }
    }

    fn take_offer(&mut self, offer: u64, to: NodeId) -> Option<Offer> {
        let is_his = self.offers.get(&offer).is_some_and(|offer| offer.to == to);
        is_his.then(|| self.offers.remove(&offer)).flatten()
    }
}

impl Offer {
    /// Takes back an answered or late offer, except for its first `n_taken` tasks.
    fn take_back(&self, n_taken: u32, reason: &Reason, turn: &mut Turn<'_>) -> OfferResult {
        let n_taken = (n_taken as usize).min(self.shares.len());
        let mut n_back = 0_u32;
        for share in self.shares[n_taken..].iter().rev() {
            if turn.node.book.lease_of(self.to, *share).is_some_and(|lease| !lease.confirmed) {
                let task = turn.node.book.task(share.number);
                n_back += task.map_or(1, n_cores_of);
                turn.back(share.number, share.instance, reason.clone());
            }
        }
        let n_offered = self.n_cores;
        OfferResult { to: self.to, n_offered, n_taken: n_offered.saturating_sub(n_back) }
    }
}

/// Takes back tasks that another node returns; returns how many.
pub(super) fn on_returned(
    from: NodeId,
    shares: &[InstanceId],
    because: &str,
    turn: &mut Turn<'_>,
) -> u32 {
    let mut n_back = 0;
    // The tasks go to the front of the queue, so the last one goes first.
    for share in shares.iter().take(N_SHARES_MAX).rev() {
        if turn.node.book.lease_of(from, *share).is_some() {
            let reason = Reason::Returned(from, because.into());
            turn.back(share.number, share.instance, reason);
            n_back += 1;
        }
    }
    n_back
}

/// Handles results of own tasks from another node. Results that no longer count are acknowledged too.
pub(super) fn on_ended(from: NodeId, ends: Vec<SharedEnd>, turn: &mut Turn<'_>) {
    let shares = ends.iter().map(|end| end.share).collect();
    for end in ends {
        let SharedEnd { share: InstanceId { number, instance }, .. } = end;
        let task = turn.node.book.task(number);
        let waits = task.is_some_and(|task| task.waits() && !task.has_failed(instance));
        // A task that was taken back and waits has been run after all.
        let counts = waits || may_be_lent(&turn.node.book, end.share);
        if !counts && turn.node.book.lease_of(from, end.share).is_none() {
            continue;
        }
        let end = EndRecord {
            number,
            instance,
            node: from,
            outcome: end.outcome,
            started_ms: Some(end.started_ms),
            ended_ms: end.ended_ms,
            output: end.output,
            usage: end.usage,
        };
        turn.attempt_over(end);
    }
    turn.out.send(from, PeerMessage::Acknowledged(shares));
}

/// Takes back the tasks that a restarted daemon did not report when it reported all that it holds.
fn take_back_forgotten(
    (from, incarnation): (NodeId, u64),
    held: &[InstanceId],
    turn: &mut Turn<'_>,
) {
    let held = held.iter().copied().collect::<BTreeSet<_>>();
    let is_lost = |(number, lease): &(&u64, &Lease)| {
        let share = InstanceId { number: **number, instance: lease.instance };
        lease.to == from && lease.incarnation < incarnation && !held.contains(&share)
    };
    let lost = turn.node.book.leases().iter().filter(is_lost);
    for (number, instance) in lost.map(|(n, lease)| (*n, lease.instance)).collect::<Vec<_>>() {
        turn.back(number, instance, Reason::Restarted(from));
    }
}

/// Returns whether the task is uncertain, and may be held as this instance.
fn may_be_lent(book: &Book, share: InstanceId) -> bool {
    let task = book.task(share.number);
    task.is_some_and(|task| task.is_uncertain && task.instance <= share.instance)
}
