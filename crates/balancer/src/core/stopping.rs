//! A node leaves: what waits for others goes back, what runs is waited for or ended.

use balanced::Presence;
use balancing::Moment;

use super::words::{Killed, Now, Out};
use super::{At, Core, KeeperOrder};

/// How long results are still told to homes that do not acknowledge them.
const FAREWELL_MS: u64 = 10_000;

/// Since when, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    now: bool,
    since: Moment,
    /// Whether it was all said.
    over: bool,
}

impl Core {
    /// Whether the node stops.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Has the node leave, because somebody outside wants it to.
    pub fn leave(&mut self, now: Now, at_once: bool, out: &mut impl Out) {
        let at = &mut At { now, out };
        self.stop(at_once, at);
        self.settle(at);
    }

    /// Stops: takes and starts nothing any more, and leaves when nothing runs. With `now`, what runs is ended, to
    /// be run again: elsewhere, or here when the node comes back.
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
        // Others may still run tasks of this home, and have nobody else to tell.
        let nothing_lent = self.book.leases().is_empty() || now;
        if self.running.is_empty() && told && nothing_lent {
            self.stopping = Some(Stopping { now, since, over: true });
            at.out.keeper(KeeperOrder::Leave);
            at.out.presence(Presence::Left);
            Out::leave(at.out);
        }
    }
}
