//! Events from workers: results, failures, deaths.

use super::pool::TaskGroup;
use super::worker_state::{AssignedChunk, Presence};
use super::{Done, Ledger, WorkerTimes};
use chunking::Completed;
use std::ops::Range;

impl Ledger {
    /// Records the results of a chunk; `None` when its tasks, or some of them, are done already.
    pub(crate) fn finished(
        &mut self,
        worker: u32,
        chunk: u64,
        measured: WorkerTimes,
        now_s: f64,
    ) -> Option<Done> {
        let compute_s = measured.compute_s;
        if let Some(state) = self.workers.get(worker).filter(|_| worker != 0) {
            self.seen.answered(state, chunk, compute_s, now_s);
        }
        let held = self.answer(worker, chunk, now_s).or_else(|| self.reclaim(worker, chunk))?;
        let n_tasks = held.part.n_tasks();
        let state = &mut self.workers.states[worker as usize];
        state.n_answer_bytes = measured.n_bytes;
        let round_trip_s = (now_s - held.sent_s - compute_s).max(0.0);
        let overhead_s = match held.is_first {
            false => measured.waited_s.max(0.0),
            // Before its first message, a worker may still be starting.
            true if state.speed.chunk_s(1).is_none() => state.speed.round_trip_s() / 2.0,
            true => round_trip_s / 2.0,
        };
        let was_waited_for = held.is_first && worker != 0 && state.speed.chunk_s(1).is_some();
        let round_trip_s = was_waited_for.then_some(round_trip_s);
        if let Some(round_trip_s) = round_trip_s {
            state.speed.add_round_trip(round_trip_s);
        }
        state.speed.computed(n_tasks, compute_s);
        self.seen.all.computed(n_tasks, compute_s);
        let one_way_s = state.speed.round_trip_s() / 2.0;
        let first = held.part.tasks.start;
        let done = Completed { worker, first, n_tasks, compute_s, overhead_s, now_s };
        self.policy.completed(&done);
        self.n_tasks_open -= n_tasks.min(self.n_tasks_open);
        let (tasks, batch, n_bytes) = (held.part.tasks, held.batch, held.n_bytes);
        if let Some(places) = &mut self.places {
            places.push((tasks.clone(), worker));
        }
        Some(Done { tasks, batch, n_bytes, one_way_s, round_trip_s })
    }

    /// Records that a chunk failed. It is dealt again, unless it failed too often: then its tasks
    /// are returned.
    pub(crate) fn failed(&mut self, worker: u32, chunk: u64, now_s: f64) -> Option<Range<u64>> {
        let held = self.answer(worker, chunk, now_s)?;
        let n_failed = held.part.n_failed + 1;
        if self.rules.n_attempts <= n_failed {
            return Some(held.part.tasks);
        }
        self.policy.returned(held.part.tasks.clone());
        self.pool.put(TaskGroup { n_failed, avoid: Some(worker), ..held.part });
        self.restart();
        None
    }

    /// Removes a worker for good; returns how many tasks it held.
    pub(crate) fn gone(&mut self, worker: u32) -> u64 {
        let Some(state) = self.workers.states.get_mut(worker as usize) else { return 0 };
        state.presence = Presence::Gone;
        state.missed.clear();
        let n_tasks = state.n_held();
        for held in std::mem::take(&mut state.held) {
            self.policy.returned(held.part.tasks.clone());
            self.pool.put(held.part);
        }
        self.restart();
        self.policy.left(worker);
        n_tasks
    }

    /// Takes an answered chunk off the worker's list; `None` if the worker no longer held it.
    fn answer(&mut self, worker: u32, chunk: u64, now_s: f64) -> Option<AssignedChunk> {
        let state = self.workers.states.get_mut(worker as usize)?;
        state.is_late = false;
        let was_away =
            matches!(state.presence, Presence::Busy | Presence::Overdue | Presence::Away);
        if was_away {
            state.presence = Presence::InUse;
        }
        let held = state.take(chunk);
        let is_missed = state.missed.iter().any(|missed| missed.id == chunk);
        if held.is_some() || was_away || is_missed {
            state.began_s = now_s;
            if state.is_idle() && worker != 0 {
                self.idle.push_back(worker);
            } else {
                self.expect(worker, now_s);
            }
        }
        if was_away {
            self.restart();
        }
        held
    }
}
