//! Forecast of an iteration's duration if its tasks were dealt in other chunks.
//!
//! Chunks are dealt from the first task to the last, so the dealing order gives each chunk's position in the
//! sequence of tasks. From this follow the cost of a task by position and, from the remainder, how much slower
//! each worker is than the others. Dealing is then simulated: a master that serves one worker at a time, and
//! workers that get the next chunk when they have returned one.
//!
//! # Invariants
//! - Pure; cost bounded by the number of sections and of chunks in an iteration.

use crate::chunks::{ComputedChunk, IterationChunks};
use chunking::Work;
use chunking::predictive::chunks;
use events::Rank;
use models::master_worker::transfer::Cost;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Number of sections into which the sequence of tasks is divided.
const N_PLACES: usize = 256;

/// Cost of tasks by section, and slowness of each worker.
#[derive(Debug)]
pub(super) struct Profile {
    /// Cumulative cost before each section, in seconds, scaled as if the sequence had one task in all.
    before_s: Vec<f64>,
    slowness: BTreeMap<Rank, f64>,
}

/// Tasks to deal, the workers, and the costs of dealing.
#[derive(Clone, Debug)]
pub(super) struct Dealing {
    pub(super) n_tasks: u64,
    pub(super) n_tasks_min: u64,
    pub(super) ranks: Vec<Rank>,
    /// Time the master is busy with a chunk, by its number of tasks.
    pub(super) service: Cost,
    /// Minimum time the worker waits for a chunk, by its number of tasks.
    pub(super) pause: Cost,
}

impl Profile {
    /// Learns a profile from the chunks of several iterations.
    pub(super) fn new(window: &VecDeque<IterationChunks>) -> Self {
        let mut profile = Self { before_s: Vec::new(), slowness: BTreeMap::new() };
        profile.learn_places(window);
        profile.learn_slowness(window);
        profile.learn_places(window);
        profile
    }

    /// Narrow chunks tell more about a section than wide ones, so they have more weight.
    fn learn_places(&mut self, window: &VecDeque<IterationChunks>) {
        let mut seen = vec![(0.0, 0.0); N_PLACES];
        let (mut all_s, mut n_all) = (0.0, 0.0);
        for (chunk, [from, to]) in window.iter().flat_map(placed) {
            let task_s = chunk.time_s() / chunk.n_tasks / self.slowness_of(chunk.rank);
            all_s += task_s * chunk.n_tasks;
            n_all += chunk.n_tasks;
            let (first, last) = (place_of(from), place_of(to));
            for (place, sum) in (first..).zip(&mut seen[first..=last]) {
                let weight = overlap(place, from, to) / (to - from).max(1e-9);
                sum.0 += weight * task_s;
                sum.1 += weight;
            }
        }
        let usual_s = all_s / f64::max(n_all, 1.0);
        self.before_s = vec![0.0];
        for (sum_s, weight) in seen {
            let task_s = if 0.0 < weight { sum_s / weight } else { usual_s };
            self.before_s.push(self.before_s[self.before_s.len() - 1] + task_s / N_PLACES as f64);
        }
    }

    fn learn_slowness(&mut self, window: &VecDeque<IterationChunks>) {
        let mut seen: BTreeMap<Rank, (f64, f64)> = BTreeMap::new();
        for iteration in window {
            for (chunk, [from, to]) in placed(iteration) {
                let worker = seen.entry(chunk.rank).or_default();
                worker.0 += chunk.time_s();
                worker.1 += self.between_s(from, to) * iteration.n_tasks;
            }
        }
        let slowness = |(took_s, expected_s): (f64, f64)| {
            if 0.0 < expected_s && 0.0 < took_s { took_s / expected_s } else { 1.0 }
        };
        self.slowness = seen.into_iter().map(|(rank, times)| (rank, slowness(times))).collect();
    }

    fn slowness_of(&self, rank: Rank) -> f64 {
        self.slowness.get(&rank).copied().unwrap_or(1.0)
    }

    fn before_s(&self, at: f64) -> f64 {
        let place = place_of(at);
        let inside = (at * N_PLACES as f64 - place as f64).clamp(0.0, 1.0);
        self.before_s[place] + inside * (self.before_s[place + 1] - self.before_s[place])
    }

    fn between_s(&self, from: f64, to: f64) -> f64 {
        self.before_s(to) - self.before_s(from)
    }

    /// Returns the simulated duration of an iteration dealt by these shares, in seconds.
    pub(super) fn iteration_s(&self, shares: [f64; 3], dealing: &Dealing) -> f64 {
        let n_workers = u32::try_from(dealing.ranks.len()).unwrap_or(u32::MAX);
        let all = Work { n_tasks: dealing.n_tasks, n_workers };
        let n_tasks = dealing.n_tasks as f64;
        // For non-negative floats, the order of the bit patterns is the order of the numbers.
        let mut workers: BinaryHeap<Reverse<(u64, usize)>> =
            (0..dealing.ranks.len()).map(|worker| Reverse((0, worker))).collect();
        let (mut master_s, mut end_s) = (0.0_f64, 0.0_f64);
        for chunk in chunks(shares, all, dealing.n_tasks_min) {
            let Some(Reverse((free, worker))) = workers.pop() else { break };
            let service_s = dealing.service.of(chunk.n_tasks as f64);
            let return_s = (dealing.pause.of(chunk.n_tasks as f64) - service_s).max(0.0);
            master_s = master_s.max(f64::from_bits(free)) + service_s;
            let [from, to] =
                [chunk.first, chunk.first + chunk.n_tasks].map(|task| task as f64 / n_tasks);
            let cost_s = self.between_s(from, to) * n_tasks;
            let back_s = master_s + cost_s * self.slowness_of(dealing.ranks[worker]) + return_s;
            end_s = end_s.max(back_s);
            workers.push(Reverse((back_s.to_bits(), worker)));
        }
        end_s
    }
}

/// Returns each chunk with its begin and end in the sequence of tasks, from 0 to 1.
fn placed(iteration: &IterationChunks) -> impl Iterator<Item = (&ComputedChunk, [f64; 2])> {
    let mut n_before = 0.0;
    iteration.chunks.iter().map(move |chunk| {
        let from = n_before;
        n_before += chunk.n_tasks;
        (chunk, [from, n_before].map(|n| n / iteration.n_tasks))
    })
}

#[expect(clippy::cast_possible_truncation, reason = "at most the number of places")]
#[expect(clippy::cast_sign_loss, reason = "places on the line are not negative")]
fn place_of(at: f64) -> usize {
    ((at * N_PLACES as f64) as usize).min(N_PLACES - 1)
}

fn overlap(place: usize, from: f64, to: f64) -> f64 {
    let [low, high] = [place, place + 1].map(|edge| edge as f64 / N_PLACES as f64);
    (to.min(high) - from.max(low)).max(0.0)
}
