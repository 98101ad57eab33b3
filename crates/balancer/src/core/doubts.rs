//! Tasks of which records may be missing wait until nobody else can run them.
//!
//! A lease that is not known any more may still be held. Its node says so when it is linked, and has it again; one that
//! says nothing has lost it after as long as any lease lasts. So nothing runs twice that a damaged journal has forgotten.

use super::words::{NodeId, Share};
use super::{At, Core, Record};

impl Core {
    /// When leases that are not known have run out, and all nodes that are up have said what they hold, the tasks that
    /// are left wait as all others do.
    pub(super) fn sweep_doubts(&mut self, at: &mut At<'_>) {
        if self.book.n_doubted() == 0 || !self.ready {
            return;
        }
        let lease_ms = self.options.lease_ms + self.options.slack_ms;
        let waited_ms = at.now.moment.ms_since(self.began.moment);
        let has_said = |id| !self.peers.is_up(id) || self.lending.whole.contains_key(&id);
        let all_have_said = self.peers.iter().all(|member| has_said(member.id));
        // One that holds very much says it in pieces.
        if lease_ms <= waited_ms && (all_have_said || 2 * lease_ms <= waited_ms) {
            self.record(&Record::Settled { first: 1, last: u64::MAX }, at);
        }
    }

    /// Whether the task is doubted, and may be held as this.
    pub(super) fn may_hold(&self, share: Share) -> bool {
        let task = self.book.task(share.number);
        task.is_some_and(|task| task.is_doubted() && task.instance() <= share.instance)
    }

    /// The node holds a task of which nobody knew any more where it is.
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

    /// People should know this of the node, a sentence each.
    pub fn set_troubles(&mut self, troubles: Vec<String>) {
        self.troubles = troubles;
    }

    /// What people should know of this node.
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
