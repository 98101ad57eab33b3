//! Number of tasks in a chunk for a worker of mean speed.
//!
//! Tasks are dealt in *rounds*, in which each worker has one chunk. With `N` workers and `R` tasks left at the
//! beginning of a round, a worker gets `R/(x*N)`. The divisor `x` is computed anew at every request:
//!
//! - `2 + sigma*sqrt(N/2)/mu` as in DAF, also for the first chunks: with `x_0` near 1 no tasks would
//!   remain to even out later imbalance;
//! - or, if larger, the `x` at which dealing costs 0.05 % of the iteration: a worker gets about
//!   `x*ln(T/h)` chunks, with `T` the iteration's time and `h` the overhead of a chunk beside computing. Where `h` is
//!   small, chunks are small from the start, and expensive tasks not measured yet do no harm;
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
//! Where workers ask ahead, a chunk that takes longer than the next one needs to arrive costs nothing beside computing:
//! `h` is 0, and no chunk is shorter than that. While it is not known what tasks cost, chunks are smaller still, so that
//! each tells of few tasks.

use super::overhead::Overhead;
use crate::adjusting::later_divisor;
use crate::policy::Settings;
use crate::spread::{Spread, Window};
use std::collections::BTreeSet;

/// Share of an iteration that dealing may cost.
const DEALING_SHARE: f64 = 0.0005;
/// Share of an iteration that further rounds may cost as an insurance where chunks have a high overhead.
const INSURANCE_SHARE: f64 = 0.003;
/// Smallest insurance in the first iteration, in seconds: most of its tasks are not measured yet, and
/// nobody notices such a time once.
const FIRST_INSURANCE_S: f64 = 200e-6;
/// Upper bound of `x` where only low overhead makes it large.
const CHEAP_DIVISOR_MAX: f64 = 32.0;
/// The same where chunks are asked for ahead and it is not known what tasks cost.
const FINDING_DIVISOR: f64 = 256.0;
/// `x` for the last chunks.
const LAST_DIVISOR: f64 = 2.0;
/// Lower bound of the deviation over the mean of the last chunks.
const UNEVEN_MIN: f64 = 0.2;
/// Upper bound of the deviation over the mean of the last chunks.
const UNEVEN_MAX: f64 = 1.0;
/// Time of the shortest chunk over the time that the next one needs to arrive.
const HIDING: f64 = 1.25;
/// The same while it is not known what tasks cost.
const HIDING_AT_FIRST: f64 = 4.0;

/// Sizes of chunks.
#[derive(Debug)]
pub(super) struct Sizes {
    settings: Settings,
    measured: Window,
    overhead: Overhead,
    /// Time that a chunk needs to arrive where it was not asked for ahead.
    latency: Overhead,
    /// Whether workers ask ahead: as is known, or once one has.
    pub(super) is_ahead: bool,
    /// True while it is not known what tasks cost.
    pub(super) is_finding: bool,
    /// Tasks in the iteration.
    n_tasks: f64,
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
    n_tasks: f64,
    /// Workers that had a chunk of this round.
    workers: BTreeSet<u32>,
}

/// A chunk that came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) n_tasks: u64,
    /// Computing time, divided by the worker's slowness, in seconds.
    pub(super) usual_s: f64,
    pub(super) overhead_s: f64,
    /// Computing time of the worker's chunk before this one, if this one was asked for ahead of its end.
    pub(super) behind_s: Option<f64>,
}

impl Sizes {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            settings: *settings,
            measured: Window::new(settings.n_iterations),
            overhead: Overhead::default(),
            latency: Overhead::default(),
            is_ahead: settings.asks_ahead,
            is_finding: true,
            n_tasks: 0.0,
            round: None,
            n_rounds: 0.0,
            newest_s: 0.0,
        }
    }

    pub(super) fn begin(&mut self, n_tasks: u64) {
        self.n_tasks = n_tasks as f64;
        self.measured.begin();
        self.round = None;
        self.n_rounds = 0.0;
        self.newest_s = 0.0;
    }

    pub(super) fn restart(&mut self) {
        self.round = None;
    }

    pub(super) fn add(&mut self, done: &Timed) {
        self.measured.add(done.n_tasks, done.usual_s);
        self.newest_s = if 0 < done.n_tasks { done.usual_s / done.n_tasks as f64 } else { 0.0 };
        self.overhead.add(done.overhead_s);
        match (done.behind_s, self.latency.usual_s()) {
            (None, _) => self.latency.add(done.overhead_s),
            // It was waited for, although it was asked for when the chunk before it began or later.
            (Some(behind_s), Some(known_s)) if known_s < 4.0 * done.overhead_s => {
                self.latency.add((behind_s + done.overhead_s).min(2.0 * known_s));
            }
            (Some(_), _) => {}
        }
    }

    pub(super) fn known(&self) -> Option<Estimates> {
        let moments = self.measured.moments();
        let measured = (!moments.is_empty()).then(|| moments.spread());
        let spread = measured.or(self.settings.spread)?;
        let overhead_s = match self.overhead.usual_s().or(self.settings.overhead_s)? {
            _ if self.is_ahead => 0.0,
            overhead_s => overhead_s,
        };
        let task_deviation = moments.spread_of_tasks().map_or(0.0, |tasks| tasks.relative());
        let is_first = self.measured.is_first();
        let newest_s = if self.is_finding { self.newest_s } else { 0.0 };
        Some(Estimates { spread, task_deviation, overhead_s, newest_s, is_first })
    }

    /// Registers the worker in the round; a worker that had a chunk of the round starts the next one.
    fn take_turn(&mut self, worker: u32, n_left: f64) {
        if self.round.as_ref().is_none_or(|round| round.workers.contains(&worker)) {
            self.round = Some(Round { n_tasks: n_left, workers: BTreeSet::new() });
            self.n_rounds += 1.0;
        }
        if let Some(round) = &mut self.round {
            round.workers.insert(worker);
        }
    }

    /// Returns the tasks for a worker of average speed when `n_left` are left; one before the first measurement.
    pub(super) fn usual(&mut self, worker: u32, n_left: f64, n_workers: u32) -> f64 {
        let n_workers = f64::from(n_workers);
        self.take_turn(worker, n_left);
        let Some(known) = self.known() else { return 1.0_f64.min(n_left) };
        let Some(round) = &self.round else { return 1.0 };
        let equal = round.n_tasks / n_workers;
        let each = self.n_tasks / n_workers;
        let is_finding = self.is_ahead && self.is_finding;
        let finest = if is_finding { FINDING_DIVISOR } else { CHEAP_DIVISOR_MAX };
        let wished = later_divisor(known.spread, n_workers).max(known.cheap_divisor(each, finest));
        let n_rounds_left = known.n_rounds_worth(each, wished) - (self.n_rounds - 1.0);
        let divisor = wished.min(n_rounds_left).max(1.0);
        let usual = (equal / divisor).max(known.smallest_of(equal, each, wished));
        usual.max(self.n_hiding(known, equal, is_finding)).min(equal)
    }

    /// Returns the tasks whose time hides how long the next chunk takes to arrive; 0 where nobody asks ahead.
    fn n_hiding(&self, known: Estimates, equal: f64, is_finding: bool) -> f64 {
        if !self.is_ahead {
            return 0.0;
        }
        let latency_s = self.latency.usual_s().unwrap_or(0.0);
        let least = known.n_tasks_in(HIDING * latency_s);
        let wished = if is_finding { HIDING_AT_FIRST / HIDING * least } else { least };
        wished.min(equal / LAST_DIVISOR).max(least)
    }
}

/// Measured values of tasks and chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimates {
    /// Spread of the times per task, from chunks.
    pub(super) spread: Spread,
    /// Deviation of a single task over the mean, as if tasks were independent.
    pub(super) task_deviation: f64,
    pub(super) overhead_s: f64,
    /// Time per task in the newest chunk, in seconds.
    pub(super) newest_s: f64,
    /// True if no iteration has ended yet.
    pub(super) is_first: bool,
}

impl Estimates {
    /// Returns the largest `x` with which dealing costs at most its share of the time that each worker computes, for
    /// `each` tasks per worker.
    fn cheap_divisor(self, each: f64, finest: f64) -> f64 {
        let each_s = each * self.spread.mean_s;
        if self.overhead_s <= 0.0 {
            return finest;
        }
        let n_rounds = (each_s / self.overhead_s).ln().max(1.0);
        (DEALING_SHARE * each_s / (self.overhead_s * n_rounds)).min(finest)
    }

    /// Returns the rounds worthwhile in an iteration of `each` tasks per worker, at least 1: those that the insurance
    /// pays for, or no limit where equal parts would end further apart than all rounds of `x` cost.
    pub(super) fn n_rounds_worth(self, each: f64, divisor: f64) -> f64 {
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
    pub(super) fn insurance_s(self, each: f64) -> f64 {
        let share_s = INSURANCE_SHARE * each * self.spread.mean_s;
        if self.is_first { share_s.max(FIRST_INSURANCE_S) } else { share_s }
    }

    /// Returns the tasks in the smallest chunk for a worker of average speed, where the last few tasks are like the
    /// others.
    pub(super) fn smallest(self, divisor: f64) -> f64 {
        let uneven = self.spread.relative().clamp(UNEVEN_MIN, UNEVEN_MAX);
        self.n_tasks_in(divisor * self.overhead_s / uneven)
    }

    /// Returns the same when `equal` tasks per worker are left: at most half of them, where that costs little.
    pub(super) fn smallest_of(self, equal: f64, each: f64, divisor: f64) -> f64 {
        let smallest = self.smallest(divisor);
        let n_chunks = LAST_DIVISOR * (LAST_DIVISOR * smallest).max(1.0).ln();
        let is_cheap = n_chunks * self.overhead_s <= self.insurance_s(each);
        if is_cheap { smallest.min(equal / LAST_DIVISOR) } else { smallest }
    }

    /// Returns the tasks that keep a worker of average speed busy for this time at the end of an iteration; 0 where
    /// tasks take no time.
    pub(super) fn n_tasks_in(self, time_s: f64) -> f64 {
        let task_s = self.spread.mean_s.max(self.newest_s);
        if 0.0 < task_s { time_s / task_s } else { 0.0 }
    }
}
