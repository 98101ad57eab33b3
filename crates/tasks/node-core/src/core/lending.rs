//! Lends tasks to other nodes, and takes back those that are not taken, not renewed, or given back.
//!
//! A task that is given is *offered* until the other node has asked to renew it: only then is that node told that
//! it may start, so an unanswered offer is taken back at once. From then on it is *leased*: it returns when the
//! node gives it back, or has not asked for longer than it may run without an answer.

mod packing;

use std::collections::BTreeMap;

use balancing_policies::Moment;

use super::home::N_SHARES_MAX;
use super::{At, Core};
use crate::book::{EndRecord, JournalRecord, Lease, Reason, Task};
use crate::interface::{InstanceId, NodeId, PeerMessage, SharedEnd};
use packing::Packing;

/// Time for which an offer is open, in ms.
const OFFER_MS: u64 = 2_000;
/// Most open offers: beyond that no more are made.
const N_OFFERS_MAX: usize = 4096;

/// Open offers.
#[derive(Debug, Default)]
pub(super) struct Lending {
    offers: BTreeMap<u64, Offer>,
    next: u64,
    /// Newest incarnation of each node that has reported all that it holds.
    pub(super) whole: BTreeMap<NodeId, u64>,
}

#[derive(Debug)]
struct Offer {
    to: NodeId,
    shares: Vec<InstanceId>,
    sent: Moment,
}

/// Request of a node that holds tasks of this one.
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) number: u64,
    pub(super) incarnation: u64,
    pub(super) whole: bool,
    pub(super) shares: Vec<InstanceId>,
}

impl Core {
    /// Offers up to `n_tasks` waiting tasks of this node; returns how many.
    pub(super) fn lend(&mut self, to: NodeId, n_tasks: u32, at: &mut At<'_>) -> u32 {
        let Some(member) = self.peers.get(to).filter(|_| self.peers.is_up(to)) else { return 0 };
        let incarnation = member.incarnation;
        let mut n_offered = 0;
        while n_offered < n_tasks && self.lending.offers.len() < N_OFFERS_MAX {
            let n_more = self.offer(to, incarnation, n_tasks - n_offered, at);
            if n_more == 0 {
                break;
            }
            n_offered += n_more;
        }
        n_offered
    }

    /// Makes one offer, as long as a message may be.
    fn offer(&mut self, to: NodeId, incarnation: u64, n_tasks: u32, at: &mut At<'_>) -> u32 {
        let mut packing = Packing::default();
        while packing.n_tasks() < n_tasks
            && let Some(number) = self.book.next_queued()
            && let Some(task) = self.book.task(number)
        {
            let instance = task.instance() + 1;
            if !task.is_cancel_requested() && !packing.add(InstanceId { number, instance }, task) {
                break;
            }
            if task.is_cancel_requested() {
                self.end_unrun(number, task_api::Outcome::Canceled, at);
                continue;
            }
            let at_ms = at.now.unix_ms;
            self.record(&JournalRecord::Given { number, instance, to, incarnation, at_ms }, at);
            self.book.unconfirm(number, at.now.moment);
        }
        let n_tasks = packing.n_tasks();
        if 0 < n_tasks {
            let offer = self.options.incarnation.wrapping_shl(20).wrapping_add(self.lending.next);
            self.lending.next += 1;
            let shares = packing.shares();
            self.lending.offers.insert(offer, Offer { to, shares, sent: at.now.moment });
            at.out.send(to, packing.into_message(offer, incarnation));
        }
        n_tasks
    }

    /// Handles the answer to an offer: the other node took its first `n_taken` tasks.
    pub(super) fn on_taken(
        &mut self,
        from: NodeId,
        (offer, n_taken): (u64, u32),
        because: Option<String>,
        at: &mut At<'_>,
    ) {
        let Some(offer) = self.take_offer(offer, from) else { return };
        let because = because.unwrap_or_else(|| "it gave no reason".to_owned());
        let reason = Reason::NotTaken(from, because.into());
        self.take_back(&offer, n_taken, &reason, at);
    }

    /// Answers a node that asks to keep tasks of this one.
    pub(super) fn on_renew(&mut self, from: NodeId, renewal: Renewal, at: &mut At<'_>) {
        let Renewal { number, incarnation, whole, shares } = renewal;
        if !self.ready && shares.iter().any(|share| self.may_hold(*share)) {
            // This node's keeper may know better; the other node asks again soon.
            return;
        }
        if whole && self.lending.whole.get(&from).is_none_or(|&newest| newest < incarnation) {
            self.lending.whole.insert(from, incarnation);
            self.take_back_forgotten(from, incarnation, &shares, at);
        }
        let mut gone = Vec::new();
        let mut canceled = Vec::new();
        for share in shares {
            if self.lease_of(from, share).is_none() && self.may_hold(share) {
                self.lend_again((from, incarnation), share, at);
            }
            let Some(lease) = self.lease_of(from, share) else {
                gone.push(share);
                continue;
            };
            lease.heard = at.now.moment;
            let is_first = !lease.confirmed;
            self.counts.n_moved_out += u64::from(is_first);
            self.book.confirm(share.number, at.now.unix_ms);
            if self.book.task(share.number).is_some_and(Task::is_cancel_requested) {
                canceled.push(share);
            }
        }
        at.out.send(from, PeerMessage::Renewed { number, gone });
        if !canceled.is_empty() {
            at.out.send(from, PeerMessage::Cancel { shares: canceled });
        }
    }

    /// Takes back tasks, and lends them to a better node if one is named.
    pub(super) fn on_returned(
        &mut self,
        from: NodeId,
        shares: &[InstanceId],
        (wish, because): (Option<NodeId>, String),
        at: &mut At<'_>,
    ) {
        let mut n_back = 0;
        // The tasks go to the front of the queue, so the last one goes first.
        for share in shares.iter().take(N_SHARES_MAX).rev() {
            if self.lease_of(from, *share).is_some() {
                let reason = Reason::Returned(from, because.as_str().into());
                self.back(share.number, share.instance, reason, at);
                n_back += 1;
            }
        }
        if let Some(to) = wish.filter(|to| *to != from && *to != self.me) {
            self.lend(to, n_back, at);
        }
    }

    /// Notes that another node has started tasks of this one.
    pub(super) fn on_started(&mut self, from: NodeId, shares: &[(InstanceId, u64)]) {
        for &(share, at_ms) in shares {
            if self.lease_of(from, share).is_some() {
                self.book.started_elsewhere(share.number, share.instance, at_ms);
            }
        }
    }

    /// Handles results of own tasks from another node. Results that no longer count are acknowledged too.
    pub(super) fn on_ended(&mut self, from: NodeId, ends: Vec<SharedEnd>, at: &mut At<'_>) {
        let shares = ends.iter().map(|end| end.share).collect();
        for end in ends {
            let SharedEnd { share: InstanceId { number, instance }, .. } = end;
            let waits = self.book.task(number).is_some_and(Task::waits);
            // A task that was taken back and waits has been run after all.
            if self.lease_of(from, end.share).is_none() && !waits && !self.may_hold(end.share) {
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
            };
            self.record(&JournalRecord::Ended(end), at);
        }
        at.out.send(from, PeerMessage::Acknowledged { shares });
    }

    /// Takes back offers that were not answered, and tasks that were not renewed.
    pub(super) fn sweep_lending(&mut self, at: &mut At<'_>) {
        let now = at.now.moment;
        let late = |offer: &Offer| OFFER_MS <= now.ms_since(offer.sent);
        let offers = &self.lending.offers;
        let late =
            offers.iter().filter(|(_, offer)| late(offer)).map(|(id, offer)| (*id, offer.to));
        for (id, to) in late.collect::<Vec<_>>() {
            if let Some(offer) = self.take_offer(id, to) {
                self.take_back(&offer, 0, &Reason::Unanswered(to), at);
            }
        }
        let lease_ms = self.options.lease_ms + self.options.slack_ms;
        // The offer was answered, but the node never asked to renew it: the task was not started.
        let limit_ms = |lease: &Lease| if lease.confirmed { lease_ms } else { 2 * OFFER_MS };
        let is_out = |lease: &Lease| limit_ms(lease) <= now.ms_since(lease.heard);
        let leases = self.book.leases().iter().filter(|(_, lease)| is_out(lease));
        for (number, lease) in leases.map(|(number, lease)| (*number, *lease)).collect::<Vec<_>>() {
            let silent = Reason::Silent(lease.to);
            let reason = if lease.confirmed { silent } else { Reason::Unanswered(lease.to) };
            self.back(number, lease.instance, reason, at);
        }
    }

    /// Takes back the tasks that a restarted daemon did not report when it reported all that it holds.
    fn take_back_forgotten(
        &mut self,
        from: NodeId,
        incarnation: u64,
        held: &[InstanceId],
        at: &mut At<'_>,
    ) {
        let held = held.iter().copied().collect::<std::collections::BTreeSet<_>>();
        let is_lost = |(number, lease): &(&u64, &Lease)| {
            let share = InstanceId { number: **number, instance: lease.instance };
            lease.to == from && lease.incarnation < incarnation && !held.contains(&share)
        };
        let lost = self.book.leases().iter().filter(is_lost);
        for (number, instance) in lost.map(|(n, lease)| (*n, lease.instance)).collect::<Vec<_>>() {
            self.back(number, instance, Reason::Restarted(from), at);
        }
    }

    /// Takes back an answered or late offer, except for its first `n_taken` tasks.
    fn take_back(&mut self, offer: &Offer, n_taken: u32, reason: &Reason, at: &mut At<'_>) {
        let n_taken = (n_taken as usize).min(offer.shares.len());
        let mut n_back = 0;
        for share in offer.shares[n_taken..].iter().rev() {
            if self.lease_of(offer.to, *share).is_some_and(|lease| !lease.confirmed) {
                self.back(share.number, share.instance, reason.clone(), at);
                n_back += 1;
            }
        }
        let n_tasks = super::rules::count(offer.shares.len());
        self.balance_moved(offer.to, (n_tasks, n_tasks - n_back), at);
    }

    fn take_offer(&mut self, offer: u64, to: NodeId) -> Option<Offer> {
        let is_his = self.lending.offers.get(&offer).is_some_and(|offer| offer.to == to);
        is_his.then(|| self.lending.offers.remove(&offer)).flatten()
    }

    /// Lease of this share, if the node has it.
    fn lease_of(&mut self, node: NodeId, share: InstanceId) -> Option<&mut Lease> {
        let lease = self.book.lease_mut(share.number)?;
        (lease.to == node && lease.instance == share.instance).then_some(lease)
    }
}
