//! `best`, the default: DAF at every request, by the workers' speeds, as fine as dealing is cheap.
//!
//! The chunk of worker `w` is `R/(x*N) * v_w`, with `R` tasks left, `N` workers and the speed `v_w` over the mean
//! speed. Three rules make `x`:
//!
//! - `2 + sigma*sqrt(N/2)/mu` as in DAF, and so for the first chunks too: with `x_0` near 1 nothing would be
//!   left to make good what turns out to be uneven;
//! - so large that dealing costs 0.05 % of the iteration, if that is more: a worker is dealt about
//!   `x*ln(T/h)` chunks, with `T` the iteration's time and `h` what a chunk costs beside computing. Where `h` is
//!   small, chunks are fine from the start, and dear tasks that nobody has seen yet do no harm;
//! - 16 while nothing is known: the first chunks find out.
//!
//! The smallest chunk `m` is one of `x*h / (sigma/mu)`: all chunks cost a worker `x*h*ln(T/m)`, the last one
//! makes it late by about `m*sigma/mu`, and together that is least there. For this, `sigma/mu` is taken to be
//! 0.2 to 1. When that is more than an equal part of what is left, equal parts are dealt, but none that
//! computes for less than `h`.
//!
//! Means and deviations are those of a window of iterations; speeds forget faster, a half with every
//! chunk, since a worker that becomes slow must not be given much more. What a chunk took is
//! divided by its worker's slowness before it counts as spread: speeds are no reason for small chunks.
//!
//! # Not here
//! Where the tasks differ: they are taken as they come.

use crate::adjusting::later_divisor;
use crate::policy::{Completed, Policy, Request, Settings, Work};
use crate::registry::PolicySpec;
use crate::rounding;
use crate::spread::{Spread, Window};
use std::collections::BTreeMap;

/// What dealing may cost, of an iteration.
const DEALING_SHARE: f64 = 0.0005;
/// `x` is not made larger for being cheap.
const CHEAP_DIVISOR_MAX: f64 = 32.0;
/// `x` while nothing is known.
const DIVISOR_UNKNOWN: f64 = 16.0;
/// The last chunks are not taken to be more even than this, as deviation over mean.
const UNEVEN_MIN: f64 = 0.2;
/// Nor more uneven than this.
const UNEVEN_MAX: f64 = 1.0;
/// What a worker's earlier chunks count when there is a new one.
const REMEMBERED: f64 = 0.5;

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
    n_tasks: u64,
}

impl Best {
    fn new(settings: &Settings) -> Self {
        Self {
            settings: *settings,
            measured: Window::new(settings.n_iterations),
            speeds: Speeds::default(),
            overhead: Overhead::default(),
            n_tasks: 0,
        }
    }

    fn spread(&self) -> Option<Spread> {
        let moments = self.measured.moments();
        if moments.is_empty() { self.settings.spread } else { Some(moments.spread()) }
    }

    fn overhead_s(&self) -> f64 {
        self.overhead.mean_s().or(self.settings.overhead_s).unwrap_or(0.0)
    }

    fn divisor(&self, n_workers: f64) -> f64 {
        let Some(spread) = self.spread() else { return DIVISOR_UNKNOWN };
        let each_s = self.n_tasks as f64 * spread.mean_s / n_workers;
        later_divisor(spread, n_workers).max(cheap_divisor(each_s, self.overhead_s()))
    }

    /// Tasks that keep a usual worker busy for this time; 0 while that is not known.
    fn n_tasks_in(&self, time_s: f64) -> f64 {
        let mean_s = self.spread().map_or(0.0, |spread| spread.mean_s);
        if 0.0 < mean_s { time_s / mean_s } else { 0.0 }
    }

    /// The smallest chunk of a usual worker, in seconds.
    fn smallest_s(&self, divisor: f64) -> f64 {
        let uneven = self.spread().map_or(1.0, |spread| spread.relative());
        divisor * self.overhead_s() / uneven.clamp(UNEVEN_MIN, UNEVEN_MAX)
    }
}

/// The largest `x` with which dealing costs its share of the time that each worker computes.
fn cheap_divisor(each_s: f64, overhead_s: f64) -> f64 {
    if overhead_s <= 0.0 {
        return CHEAP_DIVISOR_MAX;
    }
    let n_rounds = (each_s / overhead_s).ln().max(1.0);
    (DEALING_SHARE * each_s / (overhead_s * n_rounds)).min(CHEAP_DIVISOR_MAX)
}

impl Policy for Best {
    fn begin(&mut self, work: &Work) {
        self.n_tasks = work.n_tasks;
        self.measured.begin();
        self.overhead.begin();
    }

    fn restart(&mut self, _: &Work) {}

    fn next(&mut self, request: &Request) -> u64 {
        let n_workers = f64::from(request.n_workers.max(1));
        let divisor = self.divisor(n_workers);
        let equal = request.n_left as f64 / n_workers;
        let smallest = self.n_tasks_in(self.smallest_s(divisor));
        let usual = (equal / divisor).max(smallest).min(equal);
        let usual = usual.max(self.n_tasks_in(self.overhead_s()));
        let n_tasks = usual * self.speeds.relative(request.worker);
        rounding::up(n_tasks, request.n_left).max(self.settings.n_tasks_min)
    }

    fn completed(&mut self, done: &Completed) {
        self.speeds.add(done);
        let usual_s = done.compute_s * self.speeds.relative(done.worker);
        self.measured.add(done.n_tasks, usual_s);
        self.overhead.add(done.overhead_s);
    }

    fn left(&mut self, worker: u32) {
        self.speeds.forget(worker);
    }
}

/// Tasks per second of each worker, the newest chunks counting most.
#[derive(Debug, Default)]
struct Speeds {
    workers: BTreeMap<u32, Recent>,
    sum: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    n_tasks: f64,
    time_s: f64,
}

impl Recent {
    fn speed(self) -> f64 {
        if 0.0 < self.time_s { self.n_tasks / self.time_s } else { 0.0 }
    }
}

impl Speeds {
    fn add(&mut self, done: &Completed) {
        if done.n_tasks == 0 || !(0.0 < done.compute_s && done.compute_s.is_finite()) {
            return;
        }
        let recent = self.workers.entry(done.worker).or_default();
        let before = recent.speed();
        recent.n_tasks = REMEMBERED * recent.n_tasks + done.n_tasks as f64;
        recent.time_s = REMEMBERED * recent.time_s + done.compute_s;
        self.sum += recent.speed() - before;
    }

    fn forget(&mut self, worker: u32) {
        self.workers.remove(&worker);
        self.sum = self.workers.values().map(|recent| recent.speed()).sum();
    }

    /// Speed of a worker over the mean of those known; 1 while it is not known.
    fn relative(&self, worker: u32) -> f64 {
        let speed = self.workers.get(&worker).map_or(0.0, |recent| recent.speed());
        let mean = self.sum / self.workers.len().max(1) as f64;
        if 0.0 < speed && 0.0 < mean { speed / mean } else { 1.0 }
    }
}

/// What a chunk costs beside computing; an iteration counts half as much as the one after it.
#[derive(Debug, Default)]
struct Overhead {
    sum_s: f64,
    n_chunks: f64,
}

impl Overhead {
    fn begin(&mut self) {
        self.sum_s *= 0.5;
        self.n_chunks *= 0.5;
    }

    fn add(&mut self, overhead_s: f64) {
        if 0.0 <= overhead_s && overhead_s.is_finite() {
            self.sum_s += overhead_s;
            self.n_chunks += 1.0;
        }
    }

    fn mean_s(&self) -> Option<f64> {
        (0.0 < self.n_chunks).then(|| self.sum_s / self.n_chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_DEALT: Request = Request { worker: 0, n_left: 50_000, n_workers: 4, n_held: 0 };

    fn after(chunks: &[(u32, u64, f64)], overhead_s: f64) -> Best {
        let mut best = Best::new(&Settings::default());
        best.begin(&Work { n_tasks: 100_000, n_workers: 4 });
        for &(worker, n_tasks, compute_s) in chunks {
            best.completed(&Completed { worker, n_tasks, compute_s, overhead_s });
        }
        best
    }

    #[track_caller]
    fn check(chunks: &[(u32, u64, f64)], overhead_s: f64, request: Request, expected: u64) {
        assert_eq!(after(chunks, overhead_s).next(&request), expected);
    }

    #[test]
    fn dealing_is_as_fine_as_it_is_cheap() {
        let alike = [0, 1, 2, 3].map(|worker| (worker, 1000, 1.0));
        check(&[], 0.0, HALF_DEALT, 50_000 / 4 / 16 + 1);
        check(&alike, 0.0, HALF_DEALT, 50_000_u64.div_ceil(4 * 32));
        // 25 s for each worker, and a tenth of a second per chunk: nothing but DAF.
        check(&alike, 0.1, HALF_DEALT, 50_000 / 4 / 2);
    }

    #[test]
    fn the_last_chunks_are_worth_what_they_cost() {
        let alike = [0, 1].map(|worker| (worker, 1000, 1.0));
        let with = |n_left| Request { n_left, ..HALF_DEALT };
        // The smallest chunk is 2 * 0.1 s / 0.2, 1000 tasks.
        check(&alike, 0.1, with(10_000), 1250);
        check(&alike, 0.1, with(6000), 1000);
        check(&alike, 0.1, with(2000), 500);
        check(&alike, 0.1, with(400), 100);
        check(&alike, 0.1, with(300), 100);
        check(&alike, 0.1, with(30), 30);
    }

    #[test]
    fn the_faster_worker_gets_more() {
        let uneven = [(0, 1000, 1.0), (1, 1000, 2.0)];
        // Seen one after the other they are 1 and 4/3 ms per task, which makes `x` 2.202.
        check(&uneven, 0.1, HALF_DEALT, 7569);
        check(&uneven, 0.1, Request { worker: 1, ..HALF_DEALT }, 3785);
        check(&uneven, 0.1, Request { worker: 2, ..HALF_DEALT }, 5677);
        let mut one_is_gone = after(&uneven, 0.1);
        one_is_gone.left(1);
        assert_eq!(one_is_gone.next(&HALF_DEALT), 5677);
    }

    #[test]
    fn a_worker_that_becomes_slow_is_known_soon() {
        let slowed = [(0, 1000, 1.0), (1, 1000, 1.0), (0, 1000, 4.0), (0, 1000, 4.0)];
        let slow = after(&slowed, 0.1).speeds.relative(0);
        assert!(0.4 < slow && slow < 0.5, "{slow}");
    }
}
