//! State of one worker as the master knows it.

use super::pool::{TaskGroup, whole};
use crate::bundle::{N_PARTS_MAX, PART_BYTES_MAX};
use crate::protocol::HEADER_BYTES;
use std::collections::VecDeque;

/// Participation of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The worker gets no work in this iteration.
    #[default]
    Parked,
    /// The worker takes part.
    InUse,
    /// The worker computes tasks no longer wanted; it takes part again when it answers.
    Busy,
    /// Others got its tasks, as it takes far longer than expected; it takes part again when it answers.
    Overdue,
    /// The worker is missing; it takes part again should it answer.
    Away,
    /// The worker is gone for good.
    Gone,
}

/// Chunk that a worker holds.
#[derive(Clone, Debug)]
pub(crate) struct AssignedChunk {
    pub(crate) id: u64,
    pub(crate) part: TaskGroup,
    pub(crate) batch: u32,
    pub(crate) sent_s: f64,
    /// Bytes of the message that carried it.
    pub(crate) n_bytes: u64,
    /// True if the worker held nothing else when the chunk was sent.
    pub(crate) is_first: bool,
}

/// State of one worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerState {
    pub(crate) presence: Presence,
    /// Chunks held, in the order in which the worker computes them.
    pub(crate) held: VecDeque<AssignedChunk>,
    /// Chunks of this iteration that others got as well, and that the worker may still answer.
    pub(crate) missed: Vec<AssignedChunk>,
    pub(crate) speed: WorkerSpeed,
    /// Start of the present chunk, in seconds, as far as it is known.
    pub(crate) began_s: f64,
    /// Number of tasks of the present chunk, or of the last one.
    pub(crate) n_computing: u64,
    /// Number of times that these tasks were missed before.
    pub(crate) n_missed: u32,
    /// Bytes of its last results.
    pub(crate) n_answer_bytes: usize,
    /// Time of the `Prefetch` alarm that is set for the worker, in seconds.
    pub(crate) prefetch_s: Option<f64>,
    /// True if a `Watch` alarm is set for the worker.
    pub(crate) is_watched: bool,
    /// True if the policy left what there was to other workers when this one asked.
    pub(crate) is_waiting: bool,
    /// True if the worker was late at the last check; if it still is at the next one, it is missing.
    pub(crate) is_late: bool,
}

impl WorkerState {
    pub(crate) fn is_in_use(&self) -> bool {
        self.presence == Presence::InUse
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.is_in_use() && self.held.is_empty()
    }

    /// Returns whether the worker is present and computes nothing, not even tasks no longer wanted.
    pub(crate) fn is_free(&self) -> bool {
        let is_known = matches!(self.presence, Presence::Parked | Presence::InUse);
        is_known && self.held.is_empty()
    }

    pub(crate) fn n_held(&self) -> u64 {
        self.held.iter().map(|held| held.part.n_tasks()).sum()
    }

    /// Expected end of the present chunk and its computing time, in seconds; `None` where the worker
    /// computes nothing or nothing was ever measured. `all` is the speed of all workers together.
    pub(crate) fn expected_end_s(&self, all: &WorkerSpeed) -> Option<(f64, f64)> {
        let n_tasks = self.held.front()?.part.n_tasks();
        let chunk_s = self.speed.chunk_s(n_tasks).or_else(|| all.chunk_s(n_tasks))?;
        Some((self.began_s + chunk_s, chunk_s))
    }

    /// Number of chunks of `chunk_s` to have beyond the present one, so that a message and its answer take no longer than
    /// these: at least one, and no more where they or their results are large, as all of them would be in memory.
    pub(crate) fn n_ahead(&self, chunk_s: f64) -> usize {
        let n_bytes = self.held.back().map_or(0, |held| held.n_bytes);
        let is_small = n_bytes <= (HEADER_BYTES + PART_BYTES_MAX) as u64;
        if !is_small || PART_BYTES_MAX < self.n_answer_bytes {
            return 1;
        }
        let n_ahead = whole(1.0 + 2.0 * self.speed.round_trip_s() / chunk_s);
        usize::try_from(n_ahead).unwrap_or(usize::MAX).min(N_PARTS_MAX)
    }

    /// Removes and returns the chunk with this number.
    pub(crate) fn take(&mut self, id: u64) -> Option<AssignedChunk> {
        let at = self.held.iter().position(|held| held.id == id)?;
        self.held.remove(at)
    }
}

/// States of all workers by rank; the master's own is first.
#[derive(Debug)]
pub(crate) struct WorkerStates {
    pub(super) states: Vec<WorkerState>,
}

impl WorkerStates {
    pub(super) fn new(n_ranks: u32) -> Self {
        Self { states: (0..n_ranks).map(|_| WorkerState::default()).collect() }
    }

    /// Adds a state for each added rank.
    pub(crate) fn make_room(&mut self, n_ranks: u32) {
        let n_states = self.states.len().max(n_ranks as usize);
        self.states.resize_with(n_states, WorkerState::default);
    }

    /// Sets the expected round trip of workers of which none was measured, in seconds.
    pub(crate) fn expect_round_trip(&mut self, round_trip_s: f64) {
        self.states.iter_mut().for_each(|state| state.speed.expect_round_trip(round_trip_s));
    }

    pub(super) fn get(&self, worker: u32) -> Option<&WorkerState> {
        self.states.get(worker as usize)
    }

    /// Workers that are not gone, including parked ones.
    pub(crate) fn present(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(|state| state.presence != Presence::Gone)
    }

    /// Number of workers that are not gone.
    pub(crate) fn n_present(&self) -> u32 {
        u32::try_from(self.present().count()).unwrap_or(u32::MAX)
    }

    /// Workers that take part in the iteration.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(WorkerState::is_in_use)
    }

    /// Workers that are present and compute nothing, neither for this iteration nor leftovers of an earlier
    /// one.
    pub(crate) fn free(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(WorkerState::is_free)
    }

    /// Workers that are overdue or missing and have sent nothing since.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(|state| matches!(state.presence, Presence::Overdue | Presence::Away))
    }

    fn that(&self, is_so: impl Fn(&WorkerState) -> bool) -> impl Iterator<Item = u32> {
        let workers = (0..).zip(&self.states).skip(1);
        workers.filter(move |(_, state)| is_so(state)).map(|(rank, _)| rank)
    }

    pub(crate) fn is_in_use(&self, worker: u32) -> bool {
        self.get(worker).is_some_and(WorkerState::is_in_use)
    }

    /// Returns whether no worker can compute, now or soon, so that only the master is left.
    pub(crate) fn is_alone(&self) -> bool {
        let mut workers = self.states.iter().skip(1);
        let may_compute = [Presence::InUse, Presence::Busy, Presence::Overdue];
        !workers.any(|state| may_compute.contains(&state.presence))
    }
}

/// Weight of the newest chunk in the means.
const NEWEST: f64 = 0.25;

/// Exponential running means of one worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerSpeed {
    /// Computing time per task, in seconds.
    task_s: Option<f64>,
    /// Mean relative error of the predicted time of a chunk.
    off: f64,
    /// Round trip between master and worker without computing, in seconds.
    round_trip_s: Option<f64>,
    /// Round trip expected from other workers' messages, in seconds.
    elsewhere_s: Option<f64>,
}

impl WorkerSpeed {
    /// Adds the computing time of a chunk.
    pub(crate) fn computed(&mut self, n_tasks: u64, compute_s: f64) {
        if !compute_s.is_finite() {
            return;
        }
        let task_s = compute_s.max(0.0) / n_tasks.max(1) as f64;
        if let Some(known_s) = self.task_s
            && 0.0 < task_s.max(known_s)
        {
            let off = (task_s - known_s).abs() / task_s.max(known_s);
            self.off += NEWEST * (off - self.off);
        }
        self.task_s = Some(blend(self.task_s, task_s));
    }

    /// Adds a round trip.
    pub(crate) fn add_round_trip(&mut self, round_trip_s: f64) {
        if round_trip_s.is_finite() {
            self.round_trip_s = Some(blend(self.round_trip_s, round_trip_s.max(0.0)));
        }
    }

    /// Expected computing time of a chunk, in seconds; `None` before the first one.
    pub(crate) fn chunk_s(&self, n_tasks: u64) -> Option<f64> {
        Some(self.task_s? * n_tasks as f64)
    }

    /// Tasks per second; `None` before the first chunk, or when tasks take no time.
    pub(crate) fn tasks_per_s(&self) -> Option<f64> {
        self.task_s.filter(|task_s| 0.0 < *task_s).map(|task_s| 1.0 / task_s)
    }

    /// Lead of the next chunk, in seconds: how long before the expected end of a chunk of `chunk_s` it has
    /// to leave to arrive in time.
    pub(crate) fn lead_s(&self, chunk_s: f64) -> f64 {
        2.0 * (self.round_trip_s() + self.off * chunk_s)
    }

    pub(crate) fn round_trip_s(&self) -> f64 {
        self.round_trip_s.or(self.elsewhere_s).unwrap_or(USUAL_ROUND_TRIP_S)
    }

    /// Sets the round trip that other workers' messages take.
    pub(crate) fn expect_round_trip(&mut self, round_trip_s: f64) {
        self.elsewhere_s = Some(round_trip_s);
    }
}

/// Assumed round trip before one was measured, in seconds.
const USUAL_ROUND_TRIP_S: f64 = 20e-6;

fn blend(known: Option<f64>, newest: f64) -> f64 {
    known.map_or(newest, |known| known + NEWEST * (newest - known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After chunks of 10 tasks that took `chunks_s`: expected time of 20 tasks, and lead.
    #[track_caller]
    fn check(chunks_s: &[f64], chunk_s: Option<f64>, lead_s: f64) {
        let mut speed = WorkerSpeed::default();
        speed.add_round_trip(0.5);
        chunks_s.iter().for_each(|chunk_s| speed.computed(10, *chunk_s));
        assert_eq!(speed.chunk_s(20), chunk_s);
        assert!((speed.lead_s(chunk_s.unwrap_or(0.0)) - lead_s).abs() < 1e-12);
    }

    #[test]
    fn a_chunk_is_expected_to_take_what_others_took() {
        check(&[], None, 1.0);
        check(&[5.0], Some(10.0), 1.0);
        check(&[5.0, 5.0], Some(10.0), 1.0);
        check(&[5.0, 10.0], Some(12.5), 1.0 + 2.0 * 0.125 * 12.5);
        check(&[f64::NAN], None, 1.0);
        check(&[-1.0], Some(0.0), 1.0);
    }
}
