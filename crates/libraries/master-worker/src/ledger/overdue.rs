//! Workers that are silent for much longer than their chunks should take, and answers that come after all.
//!
//! A chunk is *overdue* after [`Rules::n_times_overdue`] of its expected time, [`N_EXCESSES`] of the longest time that
//! any chunk took so far beyond what was expected of it, or [`OVERDUE_S_MIN`], whichever is longest. Its tasks go
//! back to the pool, behind all that nobody has. Its worker gets nothing until it answers: it may compute, or hang.
//! The first answer for a task counts, whoever gives it, and the time doubles with each time that a task is overdue: so one
//! that takes a thousand times as long as others is done as well.
//!
//! After a patience its worker is *missing*, also where no time is expected: then the master computes, where no other
//! worker can.

use super::alarms::{Alarm, LOOK_AGAIN_S};
use super::pool::TaskGroup;
use super::worker_state::{AssignedChunk, Presence, WorkerSpeed, WorkerState};
use super::{Ledger, LedgerAction, Rules};
use std::ops::Range;

/// Time within which no chunk is overdue, in seconds: long for a pause of the system, short for a person.
const OVERDUE_S_MIN: f64 = 10.0;
/// Multiple of the longest time ever spent beyond the expected one.
const N_EXCESSES: f64 = 3.0;
/// Largest number of times that the time of a chunk is doubled.
const N_DOUBLED_MAX: u32 = 30;
/// Multiple of its expected time that a chunk gets beyond the patience.
const N_TIMES_MISSING: f64 = 10.0;

impl Rules {
    /// Time between two checks of a worker, in seconds.
    pub(super) fn look_s(&self) -> f64 {
        self.patience_s.min(OVERDUE_S_MIN)
    }

    /// Silence after which a chunk is overdue, of which `chunk_s` is expected, in seconds.
    fn overdue_s(&self, chunk_s: f64, excess_s: f64, n_missed: u32) -> f64 {
        let seen_s = N_EXCESSES * (chunk_s + excess_s);
        let overdue_s = OVERDUE_S_MIN.max(self.n_times_overdue * chunk_s).max(seen_s);
        overdue_s * f64::from(1_u32 << n_missed.min(N_DOUBLED_MAX))
    }
}

/// What chunks took so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Speed of all workers together.
    pub(super) all: WorkerSpeed,
    /// Longest time by which a chunk came later than expected, in seconds; halved with each iteration.
    pub(super) excess_s: f64,
}

impl Seen {
    /// Expected computing time of so many tasks on a worker, in seconds.
    fn chunk_s(&self, state: &WorkerState, n_tasks: u64) -> Option<f64> {
        state.speed.chunk_s(n_tasks).or_else(|| self.all.chunk_s(n_tasks))
    }

    /// Notes by how much a chunk came later than expected, which the worker still has.
    pub(super) fn answered(&mut self, state: &WorkerState, chunk: u64, compute_s: f64, now_s: f64) {
        let mut known = state.held.iter().chain(&state.missed);
        let Some(held) = known.find(|held| held.id == chunk) else { return };
        let expected_s = self.chunk_s(state, held.part.n_tasks());
        let taken_s = (now_s - state.began_s).max(compute_s);
        let excess_s = taken_s - expected_s.unwrap_or(compute_s);
        if excess_s.is_finite() {
            self.excess_s = self.excess_s.max(excess_s);
        }
    }
}

impl Ledger {
    /// Checks whether a worker is overdue or missing.
    pub(super) fn watch(&mut self, worker: u32, now_s: f64) -> Option<LedgerAction> {
        let (rules, look_s) = (self.rules, self.rules.look_s());
        let state = self.workers.states.get_mut(worker as usize)?;
        state.is_watched = false;
        let is_absent = matches!(state.presence, Presence::Busy | Presence::Overdue);
        if !is_absent && (state.held.is_empty() || !state.is_in_use()) {
            return None;
        }
        let (chunk_s, excess_s) = (self.seen.chunk_s(state, state.n_computing), self.seen.excess_s);
        // A chunk may take far longer than others, without anything being wrong.
        let missing_s = rules.patience_s + N_TIMES_MISSING * chunk_s.unwrap_or(0.0);
        let overdue_s = chunk_s.filter(|_| rules.n_times_overdue.is_finite());
        let overdue_s = overdue_s.map(|chunk_s| rules.overdue_s(chunk_s, excess_s, state.n_missed));
        let is_overdue = state.presence == Presence::Overdue;
        let (limit_s, presence) = match overdue_s.filter(|at_s| !is_overdue && *at_s < missing_s) {
            Some(overdue_s) => (overdue_s, Presence::Overdue),
            None => (missing_s, Presence::Away),
        };
        let late_s = state.began_s + limit_s;
        if now_s < late_s || !std::mem::replace(&mut state.is_late, true) {
            // If the master itself was away, answers wait to be read.
            state.is_watched = true;
            let again_s = late_s.min(now_s + look_s).max(now_s + LOOK_AGAIN_S);
            self.alarms.set(again_s, Alarm::Watch { worker });
            return None;
        }
        if presence == Presence::Overdue {
            (state.is_watched, state.is_late) = (true, false);
            self.alarms.set(now_s + look_s, Alarm::Watch { worker });
        }
        let n_tasks = self.miss(worker, presence);
        if is_overdue { None } else { Some(LedgerAction::Missed { worker, n_tasks }) }
    }

    /// Puts the chunks of a worker back into the pool, though it may still compute the first of them; returns their
    /// number of tasks.
    fn miss(&mut self, worker: u32, presence: Presence) -> u64 {
        let Some(state) = self.workers.states.get_mut(worker as usize) else { return 0 };
        state.presence = presence;
        let n_tasks = state.n_held();
        let held = std::mem::take(&mut state.held);
        state.missed.extend(held.front().cloned());
        self.unwanted.extend(held.iter().skip(1).map(|held| (worker, held.id)));
        for (place, held) in held.into_iter().enumerate() {
            let n_missed = held.part.n_missed + u32::from(place == 0);
            self.policy.returned(held.part.tasks.clone());
            self.pool.put(TaskGroup { n_missed, ..held.part });
        }
        self.restart();
        n_tasks
    }

    /// Takes the tasks of a missed chunk from wherever they are now, if none of them is done: its worker has
    /// answered after all.
    pub(super) fn reclaim(&mut self, worker: u32, chunk: u64) -> Option<AssignedChunk> {
        let late = self.workers.states.get_mut(worker as usize)?.take_missed(chunk)?;
        let tasks = &late.part.tasks;
        let is_elsewhere = |held: &AssignedChunk| overlap(&held.part.tasks, tasks) != 0;
        let elsewhere = || self.workers.states.iter().flat_map(|state| &state.held);
        let n_held: u64 = elsewhere().map(|held| overlap(&held.part.tasks, tasks)).sum();
        // A chunk that has other tasks as well brings one answer for all of them.
        let is_divided = elsewhere()
            .filter(|held| is_elsewhere(held))
            .any(|held| overlap(&held.part.tasks, tasks) < held.part.n_tasks());
        if is_divided || self.pool.n_among(tasks) + n_held < late.part.n_tasks() {
            return None;
        }
        self.pool.remove(tasks);
        for (worker, state) in (0..).zip(&mut self.workers.states) {
            if state.held.iter().any(is_elsewhere) {
                let dropped = state.drop_chunks(is_elsewhere);
                self.unwanted.extend(dropped.unbegun.into_iter().map(|id| (worker, id)));
                dropped.tasks.into_iter().for_each(|tasks| self.policy.returned(tasks));
            }
        }
        self.restart();
        // How long its messages took cannot be told from how long it was silent.
        Some(AssignedChunk { is_first: false, ..late })
    }
}

/// Chunks that a worker need not compute.
#[derive(Debug, Default)]
struct Dropped {
    tasks: Vec<Range<u64>>,
    /// Numbers of those that it has not begun.
    unbegun: Vec<u64>,
}

impl WorkerState {
    fn take_missed(&mut self, id: u64) -> Option<AssignedChunk> {
        let at = self.missed.iter().position(|missed| missed.id == id)?;
        Some(self.missed.remove(at))
    }

    /// Drops the chunks that `is_done` selects. The worker is overdue if it computes one of them and has no
    /// other.
    fn drop_chunks(&mut self, is_done: impl Fn(&AssignedChunk) -> bool) -> Dropped {
        let mut dropped = Dropped::default();
        for (place, held) in std::mem::take(&mut self.held).into_iter().enumerate() {
            if !is_done(&held) {
                self.held.push_back(held);
                continue;
            }
            dropped.tasks.push(held.part.tasks.clone());
            if place == 0 {
                self.missed.push(held);
            } else {
                dropped.unbegun.push(held.id);
            }
        }
        if self.held.is_empty() && self.is_in_use() {
            self.presence = Presence::Overdue;
        }
        dropped
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> u64 {
    one.end.min(other.end).saturating_sub(one.start.max(other.start))
}
