//! Keeps tasks whose records may be missing from running until no other node can run them.
//!
//! A lease that the book has lost may still be held. Its node reports it when it is linked, and gets it again; a
//! node that does not report it has lost it after as long as any lease lasts. So a task that a damaged journal has
//! forgotten does not run twice.

use super::words::{NodeId, Share};
use super::{At, Core, Record};

impl Core {
    /// Ends all doubts when unknown leases have expired, and all nodes that are up have reported what they hold:
    /// the remaining tasks then wait like all others.
    pub(super) fn sweep_doubts(&mut self, at: &mut At<'_>) {
        if self.book.n_doubted() == 0 || !self.ready {
            return;
        }
        let lease_ms = self.options.lease_ms + self.options.slack_ms;
        let waited_ms = at.now.moment.ms_since(self.began.moment);
        let has_said = |id| !self.peers.is_up(id) || self.lending.whole.contains_key(&id);
        let all_have_said = self.peers.iter().all(|member| has_said(member.id));
        // A node that holds very many tasks reports them in pieces, so that none of its requests is the whole.
        if lease_ms <= waited_ms && (all_have_said || 2 * lease_ms <= waited_ms) {
            self.record(&Record::Settled { first: 1, last: u64::MAX }, at);
        }
    }

    /// Returns whether the task is doubted, and may be held as this share.
    pub(super) fn may_hold(&self, share: Share) -> bool {
        let task = self.book.task(share.number);
        task.is_some_and(|task| task.is_doubted() && task.instance() <= share.instance)
    }

    /// Records a lease that was lost: the node holds the task.
    pub(super) fn lend_again(
        &mut self,
        (to, incarnation): (NodeId, u64),
        share: Share,
        at: &mut At<'_>,
    ) {
        let Share { number, instance } = share;
        let at_ms = at.now.unix_ms;
        self.record(&Record::Given { number, instance, to, incarnation, at_ms }, at);
    }

    /// Sets the troubles that users should know of, a sentence each.
    pub fn set_troubles(&mut self, troubles: Vec<String>) {
        self.troubles = troubles;
    }

    /// Troubles that users should know of.
    pub(super) fn troubles(&self) -> Vec<String> {
        let mut troubles = self.troubles.clone();
        let n_doubted = self.book.n_doubted();
        if 0 < n_doubted {
            troubles.push(format!(
                "{n_doubted} tasks, of which the damaged journal may have lost where they run, wait until no other node \
                 can run them"
            ));
        }
        troubles
    }
}
