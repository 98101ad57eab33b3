//! Chunks that leave for workers that compute: when, and how many.

use super::alarms::Alarm;
use super::worker_state::WorkerState;
use super::{Ledger, SentChunk};
use crate::options::Prefetch;

impl Ledger {
    /// Schedules the departure of the next chunk, and the check whether the worker is missing.
    pub(super) fn expect(&mut self, worker: u32, now_s: f64) {
        let look_s = self.rules.look_s();
        let leave_s = leave_s(self, worker, now_s);
        let Some(state) = self.workers.states.get_mut(worker as usize) else { return };
        let Some(held) = state.held.front().filter(|_| worker != 0) else { return };
        state.n_computing = held.part.n_tasks();
        state.n_missed = held.part.n_missed;
        let is_set = |at_s: f64| state.prefetch_s.is_some_and(|set_s| set_s <= at_s.max(now_s));
        if let Some(leave_s) = leave_s.filter(|leave_s| !is_set(*leave_s)) {
            state.prefetch_s = Some(leave_s);
            self.alarms.set(leave_s, Alarm::Prefetch { worker });
        }
        if !std::mem::replace(&mut state.is_watched, true) {
            self.alarms.set(now_s + look_s, Alarm::Watch { worker });
        }
    }

    /// Deals another chunk to a worker that computes, where it is due.
    pub(crate) fn deal_ahead(&mut self, worker: u32, now_s: f64) -> Option<SentChunk> {
        let is_due = leave_s(self, worker, now_s).is_some_and(|leave_s| leave_s <= now_s);
        if !is_due || is_wanted_by_idle(self) {
            return None;
        }
        self.deal(worker, u64::MAX, now_s)
    }
}

/// Time at which another chunk has to leave for a worker that computes, in seconds; `None` where it is to have no more.
pub(super) fn leave_s(ledger: &Ledger, worker: u32, now_s: f64) -> Option<f64> {
    let state = ledger.workers.get(worker).filter(|state| state.is_in_use() && worker != 0)?;
    let held = state.held.front()?;
    let expected = state.expected_end_s(&ledger.seen.all);
    let n_ahead = expected.map_or(1, |(_, chunk_s)| state.n_ahead(chunk_s));
    // Each has its share of what is left.
    let n_shares = 2 * u64::from(ledger.n_workers) * held.part.n_tasks();
    let n_fair = usize::try_from(ledger.pool.n_tasks() / n_shares).unwrap_or(usize::MAX);
    if n_ahead.min(n_fair).max(1) < state.held.len() {
        return None;
    }
    match (ledger.rules.prefetch, expected) {
        (Prefetch::Late, Some((end_s, chunk_s))) if state.held.len() == 1 => {
            Some(end_s - state.speed.lead_s(chunk_s))
        }
        (Prefetch::Late, Some((end_s, chunk_s))) => {
            // Chunks that follow each other are about as large.
            let end_s = end_s + chunk_s * (state.held.len() - 1) as f64;
            Some(end_s - 2.0 * state.speed.round_trip_s())
        }
        (Prefetch::Always, _) => Some(now_s),
        (Prefetch::Late, None) | (Prefetch::Off, _) => None,
    }
}

/// Returns whether an idle worker waits for tasks in the pool.
fn is_wanted_by_idle(ledger: &Ledger) -> bool {
    let has_work = |worker: &u32| ledger.pool.has_for(*worker, false);
    let asks = |state: &WorkerState| state.is_idle() && !state.is_waiting;
    ledger
        .idle
        .iter()
        .any(|worker| ledger.workers.get(*worker).is_some_and(asks) && has_work(worker))
}
