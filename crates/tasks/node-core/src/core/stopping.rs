//! Stop of a node in progress.

use balancing_policies::Moment;
use task_api::Presence;

use super::turn::Turn;
use crate::interface::{KeeperOrder, Killed};

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

impl Stopping {
    pub(super) fn new(since: Moment) -> Self {
        Self { now: false, since, over: false }
    }

    /// Announces the stop; with `now`, ends what runs.
    pub(super) fn begin(&mut self, now: bool, turn: &mut Turn<'_>) {
        self.now |= now;
        turn.out.presence(Presence::Stopping);
        if now {
            turn.node.processes.kill_all(Killed::Leaving, turn.out);
        }
    }

    /// Leaves if nothing runs and other nodes need nothing of this one.
    pub(super) fn sweep(&mut self, has_no_rooms: bool, turn: &mut Turn<'_>) {
        let waited = FAREWELL_MS <= turn.now.moment.ms_since(self.since);
        let told = turn.node.book.foreign().is_empty() || waited;
        // Other nodes may still run tasks of this home, and can report their results only here.
        let nothing_lent = turn.node.book.leases().is_empty() || self.now;
        let runs_nothing = turn.node.processes.n() == 0 && has_no_rooms;
        if !self.over && runs_nothing && told && nothing_lent {
            self.over = true;
            turn.out.keeper(KeeperOrder::Leave);
            turn.out.presence(Presence::Left);
            turn.out.leave();
        }
    }
}
