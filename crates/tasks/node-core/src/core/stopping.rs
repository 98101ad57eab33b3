//! Stops a node: other nodes' waiting tasks go back, and running tasks are awaited or ended.

use balancing_policies::Moment;
use task_api::Presence;

use super::{At, Core, KeeperOrder};
use crate::interface::{Killed, Now, Out};

/// Time for which results are still sent to homes that do not acknowledge them, in ms.
const FAREWELL_MS: u64 = 10_000;

/// Stop in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    now: bool,
    since: Moment,
    /// True when the node has announced that it has left.
    over: bool,
}

impl Core {
    /// Returns whether the node stops.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Makes the node leave, on a request from outside.
    pub fn leave(&mut self, now: Now, at_once: bool, out: &mut impl Out) {
        let at = &mut At { now, out };
        self.stop(at_once, at);
        self.settle(at);
    }

    /// Stops the node: it takes and starts nothing any more, and leaves when nothing runs. With `now`, running
    /// tasks are ended, to run again elsewhere, or here when the node comes back.
    pub(super) fn stop(&mut self, now: bool, at: &mut At<'_>) {
        let since = at.now.moment;
        let before = self.stopping.get_or_insert(Stopping { now, since, over: false });
        before.now |= now;
        at.out.presence(Presence::Stopping);
        self.return_all_held(at);
        if now {
            let running = self.running.keys().copied().collect::<Vec<_>>();
            running.into_iter().for_each(|attempt| self.kill(attempt, Killed::Leaving, at));
        }
    }

    pub(super) fn sweep_stopping(&mut self, at: &mut At<'_>) {
        let Some(Stopping { now, since, over: false }) = self.stopping else { return };
        let waited = FAREWELL_MS <= at.now.moment.ms_since(since);
        let told = self.book.foreign().is_empty() || waited;
        // Other nodes may still run tasks of this home, and can report their results only here.
        let nothing_lent = self.book.leases().is_empty() || now;
        if self.running.is_empty() && told && nothing_lent {
            self.stopping = Some(Stopping { now, since, over: true });
            at.out.keeper(KeeperOrder::Leave);
            at.out.presence(Presence::Left);
            Out::leave(at.out);
        }
    }
}
