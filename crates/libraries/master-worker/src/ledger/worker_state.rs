//! State of one worker as the master knows it.

use super::pool::Part;
use super::speed::WorkerSpeed;
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
    /// The worker is missing; it takes part again should it answer.
    Away,
    /// The worker is gone for good.
    Gone,
}

/// Chunk that a worker holds.
#[derive(Clone, Debug)]
pub(crate) struct AssignedChunk {
    pub(crate) id: u64,
    pub(crate) part: Part,
    pub(crate) batch: u32,
    pub(crate) sent_s: f64,
    /// Bytes of the message that carried it.
    pub(crate) n_bytes: u64,
    /// Whether the worker held nothing else when the chunk was sent.
    pub(crate) is_first: bool,
}

/// State of one worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerState {
    pub(crate) presence: Presence,
    /// Chunks held, in the order in which the worker computes them.
    pub(crate) held: VecDeque<AssignedChunk>,
    pub(crate) speed: WorkerSpeed,
    /// Start of the present chunk, in seconds, as far as it is known.
    pub(crate) began_s: f64,
    /// Whether a `Watch` alarm is set for the worker.
    pub(crate) is_watched: bool,
    /// Whether the worker was late at the last check; if it still is at the next one, it is missing.
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

    /// Workers that take part in the iteration.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(WorkerState::is_in_use)
    }

    /// Workers that are present and compute nothing, neither for this iteration nor leftovers of an earlier
    /// one.
    pub(crate) fn free(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(WorkerState::is_free)
    }

    /// Workers that are missing and have sent nothing since.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        self.that(|state| state.presence == Presence::Away)
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
        !workers.any(|state| state.is_in_use() || state.presence == Presence::Busy)
    }
}
