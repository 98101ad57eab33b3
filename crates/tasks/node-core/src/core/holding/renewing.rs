//! Renews leases by requests to the home; they expire without answers.

use std::collections::BTreeSet;

use super::{
    At, Attempt, Core, Held, InstanceId, KeeperOrder, Killed, N_SHARES_MAX, NodeId, Nodes,
    PeerMessage, RENEW_MS, Request, TaskKey, attempt_of, share_of,
};

/// Most requests to one home whose answers are accepted.
const N_REQUESTS_MAX: usize = 32;

impl Core {
    /// Handles the home's answer to a request.
    pub(in crate::core) fn on_renewed(
        &mut self,
        from: NodeId,
        number: u64,
        gone: &[InstanceId],
        at: &mut At<'_>,
    ) {
        let requests = self.holding.requests.entry(from).or_default();
        let Some(idx) = requests.iter().position(|request| request.number == number) else {
            return;
        };
        let Some(request) = requests.remove(idx) else { return };
        let until = request.sent.plus_ms(self.options.lease_ms);
        let gone = gone.iter().copied().collect::<BTreeSet<_>>();
        let mut attempts = Vec::new();
        for share in request.shares {
            let attempt = attempt_of(from, share);
            if gone.contains(&share) {
                self.drop_held(attempt, at);
                continue;
            }
            let held = self.holding.held.get_mut(&attempt.task);
            if let Some(held) = held.filter(|held| held.instance == share.instance) {
                held.lease_until = held.lease_until.max(Some(until));
                if held.runs {
                    attempts.push(attempt);
                }
            }
        }
        if !attempts.is_empty() {
            at.out.keeper(KeeperOrder::Extend { attempts, until });
        }
    }

    /// Renews leases, repeats results, and drops tasks whose leases have expired.
    pub(in crate::core) fn sweep_holding(&mut self, at: &mut At<'_>) {
        self.sweep_leases(at);
        if at.now.moment.ms_since(self.holding.renewed) < RENEW_MS {
            return;
        }
        self.holding.renewed = at.now.moment;
        self.holding.tidy();
        for home in self.holding.homes() {
            self.renew_whole(home, at);
        }
        self.tell_results(None, at);
    }

    /// Tells all other nodes which of their tasks are held: a restarted daemon begins with that.
    pub(in crate::core) fn renew_with_all(&mut self, at: &mut At<'_>) {
        let up = self.peers.iter().map(|member| member.id).filter(|node| self.peers.is_up(*node));
        for home in up.collect::<Nodes>() {
            self.renew_whole(home, at);
        }
    }

    /// Tells a home all of its tasks that are held, and those that have ended.
    pub(in crate::core) fn renew_whole(&mut self, home: NodeId, at: &mut At<'_>) {
        let held = self.holding.shares_of(home).map(|(share, _)| share);
        let ended = self.book.foreign().keys().filter(|attempt| attempt.task.home == home);
        let shares = held.chain(ended.map(|attempt| share_of(*attempt))).collect::<Vec<_>>();
        if shares.len() <= N_SHARES_MAX {
            self.request(home, shares, true, at);
            return;
        }
        for shares in shares.chunks(N_SHARES_MAX) {
            self.request(home, shares.to_vec(), false, at);
        }
    }

    pub(super) fn request(
        &mut self,
        home: NodeId,
        shares: Vec<InstanceId>,
        whole: bool,
        at: &mut At<'_>,
    ) {
        let number = self.holding.next_request;
        self.holding.next_request = number.wrapping_add(1);
        let incarnation = self.options.incarnation;
        let requests = self.holding.requests.entry(home).or_default();
        if requests.len() == N_REQUESTS_MAX {
            requests.pop_front();
        }
        requests.push_back(Request { number, sent: at.now.moment, shares: shares.clone() });
        at.out.send(home, PeerMessage::Renew { number, incarnation, whole, shares });
    }

    pub(super) fn sweep_leases(&mut self, at: &mut At<'_>) {
        let (now, lease_ms) = (at.now.moment, self.options.lease_ms);
        let is_out =
            |held: &Held| held.lease_until.unwrap_or_else(|| held.taken.plus_ms(lease_ms)) <= now;
        let out = self.holding.held.iter().filter(|(_, held)| is_out(held));
        let attempt =
            |(task, held): (&TaskKey, &Held)| Attempt { task: *task, instance: held.instance };
        for attempt in out.map(attempt).collect::<Vec<_>>() {
            if self.holding.waits(attempt) {
                self.give_back(attempt, "its home was not heard for too long", at);
            }
            self.drop_held(attempt, at);
        }
    }

    pub(super) fn drop_held(&mut self, attempt: Attempt, at: &mut At<'_>) {
        if self.holding.waits(attempt) {
            self.holding.forget(attempt);
        } else {
            self.kill(attempt, Killed::LeaseOut, at);
        }
    }
}
