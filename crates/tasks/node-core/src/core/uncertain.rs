//! Keeps tasks whose records may be missing from running until no other node can run them.
//!
//! A lease that the book has lost may still be held. Its node reports it when it is linked, and gets it again; a
//! node that does not report it has lost it after as long as any lease lasts. So a task that a damaged journal has
//! forgotten does not run twice.

use super::{At, Core, JournalRecord};
use crate::interface::{InstanceId, NodeId};

impl Core {
    /// Ends all uncertainty when unknown leases have expired, and all nodes that are up have reported what they hold:
    /// the remaining tasks then wait like all others.
    pub(super) fn sweep_uncertain(&mut self, at: &mut At<'_>) {
        if self.book.n_uncertain() == 0 || !self.ready {
            return;
        }
        let lease_ms = self.options.lease_ms + self.options.slack_ms;
        let waited_ms = at.now.moment.ms_since(self.began.moment);
        let has_said = |id| !self.peers.is_up(id) || self.lending.whole.contains_key(&id);
        let all_have_said = self.peers.iter().all(|member| has_said(member.id));
        // A node that holds very many tasks reports them in pieces, so that none of its requests is the whole.
        if lease_ms <= waited_ms && (all_have_said || 2 * lease_ms <= waited_ms) {
            self.record(&JournalRecord::Settled { first: 1, last: u64::MAX }, at);
        }
    }

    /// Returns whether the task is uncertain, and may be held as this instance.
    pub(super) fn may_hold(&self, share: InstanceId) -> bool {
        let task = self.book.task(share.number);
        task.is_some_and(|task| task.is_uncertain() && task.instance() <= share.instance)
    }

    /// Records a lease that was lost: the node holds the task.
    pub(super) fn lend_again(
        &mut self,
        (to, incarnation): (NodeId, u64),
        share: InstanceId,
        at: &mut At<'_>,
    ) {
        let InstanceId { number, instance } = share;
        let at_ms = at.now.unix_ms;
        self.record(&JournalRecord::Given { number, instance, to, incarnation, at_ms }, at);
    }

    /// Sets the warnings that users should know of, a sentence each.
    pub fn set_warnings(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
    }

    /// Warnings that users should know of.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        let n_uncertain = self.book.n_uncertain();
        if 0 < n_uncertain {
            warnings.push(format!(
                "{n_uncertain} tasks wait until no other node can run them, because the damaged journal may have lost which \
                 node runs them"
            ));
        }
        warnings
    }
}
