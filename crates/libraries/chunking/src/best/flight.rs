//! Chunks that workers hold, and when each worker will be free.

use super::speeds::Speeds;
use crate::policy::ChunkRequest;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, Range};

/// A chunk that takes longer than expected is expected to take this share of its time more.
const OVERDUE: f64 = 0.25;
/// A chunk is overdue when it takes so many times as long as expected.
const OVERDUE_TIMES: f64 = 3.0;
/// Halvings of the time within which the end lies.
const N_HALVINGS: u32 = 16;
/// An end is believed for this share of the time until then.
const BELIEVED: f64 = 0.02;

/// Tasks that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) n_tasks: u64,
    /// Cost of all of them together, in seconds.
    pub(super) cost_s: f64,
}

/// Chunks in flight.
#[derive(Debug, Default)]
pub(super) struct Flight {
    workers: BTreeMap<u32, Held>,
    /// Worker looked at last.
    looked_at: u32,
    /// When all will be done, and until when this is believed, in seconds.
    end: Option<(f64, f64)>,
}

#[derive(Debug, Default)]
struct Held {
    chunks: VecDeque<Flying>,
    /// Time from which the worker computes the first of them, in seconds.
    began_s: f64,
    /// Longest time for which the first of them was said to be overdue, in seconds.
    overdue_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    first: u64,
    n_tasks: u64,
    cost_s: f64,
    /// True if it was asked for while the worker had another one.
    is_ahead: bool,
}

impl Flight {
    pub(super) fn clear(&mut self) {
        self.workers.clear();
        self.end = None;
    }

    /// Adds a chunk that answers a request.
    pub(super) fn dealt(&mut self, request: &ChunkRequest, tasks: &Range<u64>, cost_s: f64) {
        let held = self.workers.entry(request.worker).or_default();
        if held.chunks.is_empty() {
            held.began_s = request.now_s;
            held.overdue_s = 0.0;
        }
        let (first, n_tasks) = (tasks.start, tasks.end - tasks.start);
        let is_ahead = 0 < request.n_held;
        held.chunks.push_back(Flying { first, n_tasks, cost_s, is_ahead });
    }

    /// Removes a chunk that came back from a worker; returns whether it had been asked for ahead.
    pub(super) fn done(&mut self, worker: u32, first: u64, now_s: f64) -> bool {
        let Some(held) = self.workers.get_mut(&worker) else { return false };
        held.began_s = now_s;
        held.overdue_s = 0.0;
        let at = held.chunks.iter().position(|chunk| chunk.first == first);
        at.and_then(|at| held.chunks.remove(at)).is_some_and(|chunk| chunk.is_ahead)
    }

    /// Removes the chunks of these tasks, whoever has them.
    pub(super) fn returned(&mut self, tasks: &Range<u64>) {
        for held in self.workers.values_mut() {
            held.chunks.retain(|chunk| {
                chunk.first + chunk.n_tasks <= tasks.start || tasks.end <= chunk.first
            });
        }
    }

    pub(super) fn forget(&mut self, worker: u32) {
        self.workers.remove(&worker);
    }

    /// Looks at the next worker, and returns the chunk that it computes, and for how long, where that is at least three times
    /// as long as expected, and twice as long as was said before.
    pub(super) fn overdue(&mut self, now_s: f64) -> Option<(u32, Range<u64>, f64)> {
        let after = (Bound::Excluded(self.looked_at), Bound::Unbounded);
        let next = self.workers.range(after).next().or_else(|| self.workers.first_key_value());
        let worker = next.map(|(worker, _)| *worker)?;
        self.looked_at = worker;
        let held = self.workers.get_mut(&worker)?;
        let chunk = held.chunks.front()?;
        let elapsed_s = now_s - held.began_s;
        let is_long = OVERDUE_TIMES * chunk.cost_s < elapsed_s && 2.0 * held.overdue_s < elapsed_s;
        if !is_long || chunk.cost_s <= 0.0 {
            return None;
        }
        held.overdue_s = elapsed_s;
        Some((worker, chunk.first..chunk.first + chunk.n_tasks, elapsed_s))
    }

    /// Returns the time until a worker of this speed has computed all that it holds, in seconds.
    pub(super) fn rest_s(&self, worker: u32, speed: f64, now_s: f64) -> f64 {
        let Some(held) = self.workers.get(&worker) else { return 0.0 };
        let mut chunks = held.chunks.iter().map(|chunk| chunk.cost_s / speed);
        let Some(present_s) = chunks.next() else { return 0.0 };
        let elapsed_s = (now_s - held.began_s).max(0.0);
        let is_late = present_s < elapsed_s;
        let present_s = if is_late { OVERDUE * elapsed_s } else { present_s - elapsed_s };
        present_s + chunks.sum::<f64>()
    }

    /// Returns the time at which all will be done, in seconds: the tasks left, as if they were equal and each dealt
    /// to whoever ends it first, and what workers hold.
    ///
    /// It is found by halving: until `T`, a worker that is free at `t` ends `floor((T - t) * speed / cost)` tasks.
    pub(super) fn end_s(&mut self, left: Left, now_s: f64, n_workers: u32, speeds: &Speeds) -> f64 {
        if let Some((end_s, until_s)) = self.end
            && now_s <= until_s
        {
            return end_s;
        }
        let cost_s = left.cost_s / left.n_tasks as f64;
        let mut free: Vec<(f64, f64)> = speeds
            .all()
            .map(|(worker, speed)| (speed, self.rest_s(worker, speed, now_s)))
            .collect();
        free.resize(free.len().max(n_workers as usize), (1.0, 0.0));
        let speeds: f64 = free.iter().map(|(speed, _)| speed).sum();
        let rest_s: f64 = free.iter().map(|(speed, rest_s)| speed * rest_s).sum();
        let even_s = (left.cost_s + rest_s) / speeds;
        let slowest = free.iter().map(|(speed, _)| *speed).fold(f64::INFINITY, f64::min);
        let last_s = free.iter().map(|(_, rest_s)| *rest_s).fold(0.0, f64::max);
        let (mut early_s, mut late_s) = (even_s, even_s.max(last_s) + 2.0 * cost_s / slowest);
        for _ in 0..N_HALVINGS {
            let middle_s = f64::midpoint(early_s, late_s);
            let done = |(speed, rest_s): &(f64, f64)| {
                (((middle_s - rest_s) * speed / cost_s) + 1e-9).floor().max(0.0)
            };
            let n_done: f64 = free.iter().map(done).sum();
            if n_done < left.n_tasks as f64 {
                early_s = middle_s;
            } else {
                late_s = middle_s;
            }
        }
        let end_s = now_s + late_s;
        self.end = Some((end_s, now_s + BELIEVED * late_s));
        end_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(all: &[f64]) -> Speeds {
        let mut speeds = Speeds::default();
        speeds.set((0..).zip(all.iter().copied()));
        speeds
    }

    fn request(worker: u32, n_held: u64, now_s: f64) -> ChunkRequest {
        ChunkRequest { worker, n_held, now_s, ..ChunkRequest::default() }
    }

    /// The end of `n_tasks` tasks of 1 s from time 10 on, for workers of these speeds of which none holds anything.
    #[track_caller]
    fn check(all: &[f64], n_tasks: u64, expected_s: f64) {
        let left = Left { n_tasks, cost_s: n_tasks as f64 };
        let n_workers = u32::try_from(all.len()).unwrap();
        let end_s = Flight::default().end_s(left, 10.0, n_workers, &speeds(all));
        assert!((end_s - 10.0 - expected_s).abs() < 1e-3, "{end_s}");
    }

    #[test]
    fn whole_tasks_end_later_than_divided_ones() {
        check(&[1.0, 1.0], 4, 2.0);
        check(&[1.0, 1.0], 3, 2.0);
        // The fast one, of speed 1.6, ends four while the slow one, of speed 0.4, ends one.
        check(&[4.0, 1.0], 5, 2.5);
        check(&[4.0, 1.0], 1, 1.0 / 1.6);
    }

    #[test]
    fn a_worker_is_free_when_its_chunks_are_done() {
        let mut flight = Flight::default();
        flight.dealt(&request(7, 0, 10.0), &(0..1), 2.0);
        flight.dealt(&request(7, 1, 11.0), &(1..2), 2.0);
        assert!((flight.rest_s(7, 0.5, 11.0) - 7.0).abs() < 1e-12);
        assert!(!flight.done(7, 0, 14.0));
        assert!((flight.rest_s(7, 1.0, 14.0) - 2.0).abs() < 1e-12);
        flight.returned(&(0..9));
        assert!(flight.rest_s(7, 1.0, 14.0) <= 0.0);
    }

    #[test]
    fn what_takes_long_is_said_again_when_it_took_twice_as_long() {
        let mut flight = Flight::default();
        flight.dealt(&request(0, 0, 0.0), &(5..7), 1.0);
        let said = [2.0, 4.0, 5.0, 9.0].map(|now_s| flight.overdue(now_s).map(|(_, _, s)| s));
        assert_eq!(said, [None, Some(4.0), None, Some(9.0)]);
    }
}
