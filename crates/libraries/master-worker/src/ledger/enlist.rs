//! Workers that join a running iteration.

use super::Ledger;
use super::worker_state::Presence;

impl Ledger {
    /// Number of tasks that no worker holds.
    pub(crate) fn n_undealt(&self) -> u64 {
        self.pool.n_tasks()
    }

    /// Lets parked workers take part until `n_workers` do, if there are so many; returns how many
    /// do.
    pub(crate) fn enlist(&mut self, n_workers: u32) -> u32 {
        let mut n_used = u32::try_from(self.workers.in_use().count()).unwrap_or(u32::MAX);
        for (worker, state) in (0..).zip(&mut self.workers.states).skip(1) {
            if n_workers <= n_used {
                break;
            }
            if state.presence == Presence::Parked && state.held.is_empty() {
                state.presence = Presence::InUse;
                self.idle.push_back(worker);
                n_used += 1;
            }
        }
        self.restart();
        n_used
    }
}
