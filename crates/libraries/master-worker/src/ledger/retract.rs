//! Takes back prefetched chunks that an idle worker can begin at once.

use super::worker_state::WorkerSpeed;
use super::{Ledger, LedgerAction, WorkerState};

/// Delay past a chunk's expected end after which the expectation no longer counts, in seconds.
const LATE_S: f64 = 100e-6;

impl Ledger {
    /// Takes back the chunk that would wait longest, when a worker is idle and the pool is empty.
    pub(super) fn retract(&mut self, now_s: f64) -> Option<LedgerAction> {
        if self.pool.n_tasks() != 0 || self.is_done() || self.idle.is_empty() {
            return None;
        }
        let waiting = (0..).zip(&self.workers.states).filter(|(_, state)| state.is_in_use());
        let waiting = waiting.filter(|(_, state)| 2 <= state.held.len() && self.can_others(state));
        let (worker, wait_s) = waiting
            .map(|(worker, state)| (worker, wait_s(state, &self.seen.all, now_s)))
            .max_by(|(_, one_s), (_, other_s)| one_s.total_cmp(other_s))?;
        let state = self.workers.states.get_mut(worker as usize)?;
        if wait_s < 2.0 * state.speed.round_trip_s() {
            // The chunk begins in a moment, unless the one before it takes longer than expected.
            self.alarms.look_at(now_s + wait_s.max(0.0) + 2.0 * LATE_S);
            return None;
        }
        let held = state.held.pop_back()?;
        self.policy.returned(held.part.tasks.clone());
        self.pool.put(held.part);
        self.restart();
        self.expect(worker, now_s);
        Some(LedgerAction::Retract { worker, chunk: held.id })
    }

    /// Returns whether an idle worker may get the last chunk of this worker.
    fn can_others(&self, state: &WorkerState) -> bool {
        let avoid = state.held.back().and_then(|held| held.part.avoid);
        let mut idle = self.idle.iter();
        idle.any(|worker| {
            self.workers.get(*worker).is_some_and(WorkerState::is_idle) && avoid != Some(*worker)
        })
    }
}

/// Time until the chunk behind the present one begins, in seconds; infinite where the present one is overdue. `all` is the
/// speed of all workers together.
fn wait_s(state: &WorkerState, all: &WorkerSpeed, now_s: f64) -> f64 {
    let end_s = state.expected_end_s(all).map(|(end_s, _)| end_s);
    end_s.filter(|end_s| now_s <= end_s + LATE_S).map_or(f64::INFINITY, |end_s| end_s - now_s)
}
