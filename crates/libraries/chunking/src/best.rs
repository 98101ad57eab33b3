//! `best`, the default: DAF at every request, weighted by worker speed, with chunks as small as their overhead allows.
//!
//! Tasks are dealt in *rounds*, in which each worker has one chunk. With `N` workers and `R` tasks left at the
//! beginning of a round, worker `w` gets `R/(x*N) * v_w`, where `v_w` is its speed over the mean speed, counted only
//! as far as the difference exceeds chance. The divisor `x` is computed anew at every request:
//!
//! - `2 + sigma*sqrt(N/2)/mu` as in DAF, also for the first chunks: with `x_0` near 1 no tasks would
//!   remain to even out later imbalance;
//! - or, if larger, the `x` at which dealing costs 0.05 % of the iteration: a worker gets about
//!   `x*ln(T/h)` chunks, with `T` the iteration's time and `h` the overhead of a chunk beside computing. Where `h` is
//!   small, chunks are small from the start, and expensive tasks not measured yet do no harm;
//! - 16 before the first measurement: the first chunks provide it;
//! - at most the number of rounds still worthwhile. Where equal parts would end further apart than all rounds of `x`
//!   cost, this number is unlimited; else all rounds but one are an insurance, which may cost 0.3 % of the
//!   iteration. Where that does not pay for a second round, all workers get their equal part at once.
//!
//! The smallest chunk `m` is the one that takes `x*h / (sigma/mu)`: all chunks cost a worker `x*h*ln(T/m)`, the last
//! one makes it late by about `m*sigma/mu`, and this `m` minimizes the sum. For this, `sigma/mu` is clamped to 0.2 to
//! 1, and a task is assumed to take as long as the newest ones where these exceed the mean. When `m` is more than an
//! equal part of the remaining tasks, equal parts are dealt. But the last few tasks may be most of the work: where
//! `2*ln(2*m)` more chunks for each worker cost no more than that insurance, chunks continue to shrink below `m`, as
//! `R/(2*N)`.
//!
//! In the first iteration, most of whose tasks are not measured yet, the insurance is at least 0.2 ms.
//!
//! Means and deviations come from a window of iterations, and `h` from the newest chunks, so an
//! iteration starts with the knowledge of the previous one. The time of a chunk is divided by its worker's relative
//! slowness before it counts as spread: different speeds are no reason for small chunks.
//!
//! # Not here
//! Reordering tasks by cost: they are dealt in their given order.

mod speeds;

use crate::adjusting::later_divisor;
use crate::policy::{ChunkRequest, Completed, Policy, Settings, Work};
use crate::registry::PolicySpec;
use crate::rounding;
use crate::spread::{Spread, Window};
use speeds::Speeds;
use std::collections::{BTreeSet, VecDeque};

/// Share of an iteration that dealing may cost.
const DEALING_SHARE: f64 = 0.0005;
/// Share of an iteration that further rounds may cost as an insurance where chunks have a high overhead.
const INSURANCE_SHARE: f64 = 0.003;
/// Smallest insurance in the first iteration, in seconds: most of its tasks are not measured yet, and
/// nobody notices such a time once.
const FIRST_INSURANCE_S: f64 = 200e-6;
/// Upper bound of `x` where only low overhead makes it large.
const CHEAP_DIVISOR_MAX: f64 = 32.0;
/// `x` for the last chunks.
const LAST_DIVISOR: f64 = 2.0;
/// `x` before the first measurement.
const DIVISOR_UNKNOWN: f64 = 16.0;
/// Lower bound of the deviation over the mean of the last chunks.
const UNEVEN_MIN: f64 = 0.2;
/// Upper bound of the deviation over the mean of the last chunks.
const UNEVEN_MAX: f64 = 1.0;
/// A rest of at most `1/N_CRUMBS` of a chunk's tasks is dealt together with the chunk.
const N_CRUMBS: u64 = 4;

pub(crate) const SPEC: PolicySpec = PolicySpec {
    name: "best",
    sentence: "adjusting factoring at every request, by the workers' speeds, as fine as dealing is cheap",
    source: "",
    assumes_known: false,
    make: |settings| Box::new(Best::new(settings)),
};

#[derive(Debug)]
struct Best {
    settings: Settings,
    measured: Window,
    speeds: Speeds,
    overhead: Overhead,
    /// Tasks in the iteration.
    n_tasks: u64,
    /// Round being dealt, in which each worker has one chunk.
    round: Option<Round>,
    /// Rounds begun in this iteration.
    n_rounds: f64,
    /// Time per task in the newest chunk of this iteration, in seconds.
    newest_s: f64,
}

#[derive(Debug)]
struct Round {
    /// Tasks left when the round began.
    n_tasks: u64,
    /// Workers that had a chunk of this round.
    workers: BTreeSet<u32>,
}

/// Measured values of tasks and chunks.
#[derive(Clone, Copy, Debug)]
struct Estimates {
    /// Spread of the times per task, from chunks.
    spread: Spread,
    /// Deviation of a single task over the mean, as if tasks were independent.
    task_deviation: f64,
    overhead_s: f64,
    /// Time per task in the newest chunk, in seconds.
    newest_s: f64,
    /// True if no iteration has ended yet.
    is_first: bool,
}

impl Best {
    fn new(settings: &Settings) -> Self {
        Self {
            settings: *settings,
            measured: Window::new(settings.n_iterations),
            speeds: Speeds::default(),
            overhead: Overhead::default(),
            n_tasks: 0,
            round: None,
            n_rounds: 0.0,
            newest_s: 0.0,
        }
    }

    fn known(&self) -> Option<Estimates> {
        let moments = self.measured.moments();
        let measured = (!moments.is_empty()).then(|| moments.spread());
        let spread = measured.or(self.settings.spread)?;
        let overhead_s = self.overhead.usual_s().or(self.settings.overhead_s)?;
        let task_deviation = moments.spread_of_tasks().map_or(0.0, |tasks| tasks.relative());
        let is_first = self.measured.is_first();
        let newest_s = self.newest_s;
        Some(Estimates { spread, task_deviation, overhead_s, newest_s, is_first })
    }

    /// Registers the worker in the round; a worker that had a chunk of the round starts the next one.
    fn take_turn(&mut self, request: &ChunkRequest) {
        let is_in = |round: &Round| round.workers.contains(&request.worker);
        if self.round.as_ref().is_none_or(is_in) {
            self.round = Some(Round { n_tasks: request.n_left, workers: BTreeSet::new() });
            self.n_rounds += 1.0;
        }
        if let Some(round) = &mut self.round {
            round.workers.insert(request.worker);
        }
    }

    /// Returns the tasks for a worker of average speed.
    fn usual(&self, request: &ChunkRequest, known: Option<Estimates>) -> f64 {
        let Some(round) = &self.round else { return 1.0 };
        let n_workers = f64::from(request.n_workers);
        let equal = round.n_tasks as f64 / n_workers;
        let Some(known) = known else { return equal / DIVISOR_UNKNOWN };
        let each = self.n_tasks as f64 / n_workers;
        let wished = later_divisor(known.spread, n_workers).max(known.cheap_divisor(each));
        let n_rounds_left = known.n_rounds_worth(each, wished) - (self.n_rounds - 1.0);
        let divisor = wished.min(n_rounds_left).max(1.0);
        (equal / divisor).max(known.smallest_of(equal, each, wished)).min(equal)
    }
}

impl Estimates {
    /// Returns the largest `x` with which dealing costs at most its share of the time that each worker computes, for
    /// `each` tasks per worker.
    fn cheap_divisor(self, each: f64) -> f64 {
        let each_s = each * self.spread.mean_s;
        if self.overhead_s <= 0.0 {
            return CHEAP_DIVISOR_MAX;
        }
        let n_rounds = (each_s / self.overhead_s).ln().max(1.0);
        (DEALING_SHARE * each_s / (self.overhead_s * n_rounds)).min(CHEAP_DIVISOR_MAX)
    }

    /// Returns the rounds worthwhile in an iteration of `each` tasks per worker, at least 1: those that the insurance
    /// pays for, or no limit where equal parts would end further apart than all rounds of `x` cost.
    fn n_rounds_worth(self, each: f64, divisor: f64) -> f64 {
        let each_s = each * self.spread.mean_s;
        if self.overhead_s <= 0.0 {
            return f64::INFINITY;
        }
        let n_rounds = divisor * (1.0 + (each / self.smallest(divisor)).ln().max(0.0));
        let apart = self.spread.relative().min(self.task_deviation / each.sqrt());
        if n_rounds * self.overhead_s < apart * each_s {
            return f64::INFINITY;
        }
        1.0 + (self.insurance_s(each) / self.overhead_s).floor()
    }

    /// Returns the time that may be spent in case tasks differ more than measured, in seconds.
    fn insurance_s(self, each: f64) -> f64 {
        let share_s = INSURANCE_SHARE * each * self.spread.mean_s;
        if self.is_first { share_s.max(FIRST_INSURANCE_S) } else { share_s }
    }

    /// Returns the tasks in the smallest chunk for a worker of average speed, where the last few tasks are like the
    /// others.
    fn smallest(self, divisor: f64) -> f64 {
        let uneven = self.spread.relative().clamp(UNEVEN_MIN, UNEVEN_MAX);
        self.n_tasks_in(divisor * self.overhead_s / uneven)
    }

    /// Returns the same when `equal` tasks per worker are left: at most half of them, where that costs little.
    fn smallest_of(self, equal: f64, each: f64, divisor: f64) -> f64 {
        let smallest = self.smallest(divisor);
        let n_chunks = LAST_DIVISOR * (LAST_DIVISOR * smallest).max(1.0).ln();
        let is_cheap = n_chunks * self.overhead_s <= self.insurance_s(each);
        if is_cheap { smallest.min(equal / LAST_DIVISOR) } else { smallest }
    }

    /// Returns the tasks that keep a worker of average speed busy for this time at the end of an iteration; 0 where
    /// tasks take no time.
    fn n_tasks_in(self, time_s: f64) -> f64 {
        let task_s = self.spread.mean_s.max(self.newest_s);
        if 0.0 < task_s { time_s / task_s } else { 0.0 }
    }
}

impl Policy for Best {
    fn begin(&mut self, work: &Work) {
        self.n_tasks = work.n_tasks;
        self.speeds.begin(work);
        self.measured.begin();
        self.round = None;
        self.n_rounds = 0.0;
        self.newest_s = 0.0;
    }

    fn restart(&mut self, _: &Work) {
        self.round = None;
    }

    fn next(&mut self, request: &ChunkRequest) -> u64 {
        self.take_turn(request);
        let known = self.known();
        let deviation = known.map_or(0.0, |known| known.task_deviation);
        let usual = self.usual(request, known);
        // All chunks of a round are equal unless a worker's speed makes a difference of a whole task.
        let apart = (usual * (self.speeds.believed(request.worker, deviation) - 1.0)).round();
        let n_tasks =
            rounding::up(rounding::up(usual, request.n_left) as f64 + apart, request.n_left);
        let n_tasks = n_tasks.max(self.settings.n_tasks_min);
        let n_over = request.n_left.saturating_sub(n_tasks);
        let worth = known.map_or(0.0, |known| known.n_tasks_in(known.overhead_s));
        let is_crumb = n_over <= n_tasks / N_CRUMBS && n_over as f64 <= worth;
        if is_crumb { request.n_left } else { n_tasks }
    }

    fn completed(&mut self, done: &Completed) {
        // Divided by the speed known before this chunk: a speed updated by it would hide how uneven it is.
        let usual_s = done.compute_s * self.speeds.relative(done.worker);
        self.measured.add(done.n_tasks, usual_s);
        self.newest_s = if 0 < done.n_tasks { usual_s / done.n_tasks as f64 } else { 0.0 };
        self.speeds.add(done);
        self.overhead.add(done.overhead_s);
    }

    fn left(&mut self, worker: u32) {
        self.speeds.forget(worker);
    }
}

/// Number of newest chunks remembered, across iterations.
const N_NEWEST: usize = 32;
/// One of this many chunks, the most expensive, is left out.
const N_FOR_ONE_LEFT_OUT: usize = 4;
/// Number of chunks between two updates of the mean.
const N_BETWEEN: u32 = 8;

/// Mean overhead of the newest chunks without the most expensive quarter, whose chunks waited for something
/// else, such as a worker that was just starting.
#[derive(Debug, Default)]
struct Overhead {
    newest_s: VecDeque<f64>,
    usual_s: f64,
    n_since: u32,
}

impl Overhead {
    fn add(&mut self, overhead_s: f64) {
        if self.newest_s.len() == N_NEWEST {
            self.newest_s.pop_front();
        }
        self.newest_s.push_back(overhead_s);
        self.n_since += 1;
        if self.newest_s.len() < N_NEWEST || N_BETWEEN <= self.n_since {
            self.n_since = 0;
            self.usual_s = without_dearest(self.newest_s.iter().copied().collect());
        }
    }

    /// Returns the usual overhead, in seconds; `None` before the first chunk.
    fn usual_s(&self) -> Option<f64> {
        (!self.newest_s.is_empty()).then_some(self.usual_s)
    }
}

fn without_dearest(mut chunks_s: Vec<f64>) -> f64 {
    chunks_s.sort_by(f64::total_cmp);
    let n_left_out = chunks_s.len().div_ceil(N_FOR_ONE_LEFT_OUT);
    let n_kept = (chunks_s.len() - n_left_out).max(1);
    chunks_s[..n_kept].iter().sum::<f64>() / n_kept as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the policy after these chunks of (worker, tasks, time); a quarter of the tasks is left for each of
    /// four.
    fn after(chunks: &[(u32, u64, f64)], overhead_s: f64) -> Best {
        let mut best = Best::new(&Settings::default());
        best.begin(&Work { n_tasks: 100_000, n_workers: 4 });
        for &(worker, n_tasks, compute_s) in chunks {
            best.completed(&Completed { worker, n_tasks, compute_s, overhead_s });
        }
        best
    }

    fn request(worker: u32, n_left: u64) -> ChunkRequest {
        ChunkRequest { worker, n_left, n_workers: 4, n_held: 0 }
    }

    /// Checks the first chunk of a round when so many tasks are left.
    #[track_caller]
    fn check(chunks: &[(u32, u64, f64)], overhead_s: f64, n_left: u64, expected: u64) {
        assert_eq!(after(chunks, overhead_s).next(&request(0, n_left)), expected);
    }

    const ALIKE: [(u32, u64, f64); 4] =
        [(0, 1000, 1.0), (1, 1000, 1.0), (2, 1000, 1.0), (3, 1000, 1.0)];

    #[test]
    fn dealing_is_as_fine_as_it_is_cheap() {
        check(&[], 0.0, 50_000, 50_000_u64.div_ceil(4 * 16));
        check(&ALIKE, 0.0, 50_000, 50_000_u64.div_ceil(4 * 32));
        // 25 s for each worker, and 10 ms per chunk: plain DAF.
        check(&ALIKE, 0.01, 50_000, 50_000 / 4 / 2);
    }

    #[test]
    fn the_last_chunks_are_worth_what_they_cost() {
        // The smallest chunk is 2 * 10 ms / 0.2, 100 tasks.
        check(&ALIKE, 0.01, 10_000, 1250);
        check(&ALIKE, 0.01, 600, 100);
        check(&ALIKE, 0.01, 200, 50);
        check(&ALIKE, 0.01, 30, 8);
    }

    #[test]
    fn the_last_chunks_are_small_where_the_newest_tasks_are_dear() {
        let dear = [&ALIKE[..], &[(0, 10, 1.0)]].concat();
        let cheap = [&[(0, 10, 1.0)], &ALIKE[..]].concat();
        // 25 tasks are an equal part of 100; with all tasks alike the smallest chunk would be larger.
        check(&cheap, 0.02, 100, 25);
        check(&dear, 0.02, 100, 4);
    }

    #[test]
    fn a_second_round_has_to_be_worth_it() {
        // Of 25 s, 0.075 s may be spent on further rounds.
        check(&ALIKE, 0.07, 100_000, 12_500);
        check(&ALIKE, 0.08, 100_000, 25_000);
        check(&ALIKE, 9.0, 100_000, 25_000);
        let uneven = [(0, 1000, 1.0), (1, 1000, 2.0), (0, 1000, 2.0), (1, 1000, 1.0)];
        let dealt = after(&uneven, 0.2).next(&request(2, 100_000));
        assert!((6000..12_000).contains(&dealt), "{dealt}");
    }

    #[test]
    fn nobody_gets_more_than_an_equal_part_in_a_round() {
        let mut best = after(&ALIKE, 9.0);
        let mut n_left = 100_000;
        let mut deal = |worker: u32| {
            let n_tasks = best.next(&request(worker, n_left));
            n_left -= n_tasks;
            n_tasks
        };
        assert_eq!([0, 1, 2, 2, 3].map(&mut deal), [25_000, 25_000, 25_000, 6250, 6250]);
    }

    #[test]
    fn the_faster_worker_gets_more() {
        let fast = [(0, 1000, 1.0), (1, 1000, 2.0)].repeat(40);
        let mut best = after(&fast, 0.01);
        let [fast, slow, unknown] = [0, 1, 2].map(|worker| best.next(&request(worker, 50_000)));
        assert!((7900..8400).contains(&fast), "{fast}");
        assert!((3900..4400).contains(&slow), "{slow}");
        assert!((5900..6300).contains(&unknown), "{unknown}");
        best.left(1);
        let alone = best.next(&request(0, 50_000));
        assert_eq!(alone, best.next(&request(2, 50_000)));
    }

    #[test]
    fn crumbs_go_with_the_last_chunk() {
        let mut best = after(&ALIKE, 0.02);
        assert_eq!(best.next(&request(0, 50)), 13);
        assert_eq!(best.next(&request(1, 15)), 15);
        assert_eq!(best.next(&request(2, 37)), 13);
    }

    #[track_caller]
    fn check_overhead(chunks_s: &[f64], expected: Option<f64>) {
        let mut overhead = Overhead::default();
        chunks_s.iter().for_each(|chunk_s| overhead.add(*chunk_s));
        assert_eq!(overhead.usual_s(), expected);
    }

    #[test]
    fn the_dearest_quarter_does_not_count() {
        check_overhead(&[], None);
        check_overhead(&[9.0], Some(9.0));
        check_overhead(&[9.0, 1.0], Some(1.0));
        check_overhead(&[9.0, 1.0, 3.0], Some(2.0));
        check_overhead(&[1.0, 9.0, 3.0, 2.0], Some(2.0));
        check_overhead(&[1.0, 9.0, 3.0, 8.0, 2.0], Some(2.0));
    }

    #[test]
    fn what_is_long_past_does_not_count() {
        check_overhead(&[[5.0; 40], [1.0; 40]].concat(), Some(1.0));
    }
}
