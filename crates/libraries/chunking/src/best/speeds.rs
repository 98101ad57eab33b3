//! Speed of each worker relative to the others.

use crate::policy::Work;
use std::collections::BTreeMap;

/// Number of newest samples of each worker that count.
const N_NEWEST: usize = 3;
/// A sample has at least `1/N_SAMPLES_IN_PART` of a worker's equal part; a chunk may have fewer tasks.
const N_SAMPLES_IN_PART: f64 = 16.0;
/// Upper bound of a worker's relative speed while it has fewer than `N_NEWEST` samples.
const FASTER_AT_FIRST: f64 = 2.0;
/// Upper bound of a speed, in units of work per second; larger numbers would absorb the smaller ones in a sum.
const SPEED_MAX: f64 = 1e12;

/// Work per second of each worker: the median of its newest samples, so that one disturbed sample changes
/// nothing, and two slow ones count.
#[derive(Debug, Default)]
pub(super) struct Speeds {
    workers: BTreeMap<u32, Newest>,
    sum: f64,
    /// Workers whose speed is known.
    n_known: usize,
    fastest: f64,
    n_tasks_min: f64,
}

/// Consecutive chunks of a worker, taken together.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    n_tasks: f64,
    work: f64,
    time_s: f64,
}

impl Sample {
    fn speed(self) -> f64 {
        (self.work / self.time_s).min(SPEED_MAX)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    /// Chunks collected for the next sample, which is not yet large enough.
    open: Sample,
    /// Newest sample first.
    samples: [Sample; N_NEWEST],
    n_samples: usize,
    speed: f64,
    /// True if the worker completed a chunk in this iteration.
    is_heard: bool,
}

impl Newest {
    fn close(&mut self) {
        self.samples.rotate_right(1);
        self.samples[0] = std::mem::take(&mut self.open);
        self.n_samples = N_NEWEST.min(self.n_samples + 1);
        let mut speeds = self.samples.map(Sample::speed);
        let known = &mut speeds[..self.n_samples];
        known.sort_by(f64::total_cmp);
        self.speed = f64::midpoint(known[(known.len() - 1) / 2], known[known.len() / 2]);
    }

    fn n_tasks(&self) -> f64 {
        self.samples[..self.n_samples].iter().map(|sample| sample.n_tasks).sum()
    }
}

impl Speeds {
    /// Begins an iteration. Forgets workers that completed nothing in the last one: its tasks were different,
    /// and compared speeds must be of the same time.
    pub(super) fn begin(&mut self, work: &Work) {
        self.workers.retain(|_, newest| std::mem::take(&mut newest.is_heard));
        self.add_up();
        self.n_tasks_min = work.n_tasks as f64 / f64::from(work.n_workers) / N_SAMPLES_IN_PART;
    }

    /// Adds a chunk: its tasks, their work in a unit that is the same for all, and their time in seconds.
    pub(super) fn add(&mut self, worker: u32, (n_tasks, work): (u64, f64), time_s: f64) {
        if time_s <= 0.0 || work <= 0.0 {
            return;
        }
        let newest = self.workers.entry(worker).or_default();
        newest.is_heard = true;
        newest.open.n_tasks += n_tasks as f64;
        newest.open.work += work;
        newest.open.time_s += time_s;
        if self.n_tasks_min <= newest.open.n_tasks {
            newest.close();
            self.add_up();
        }
    }

    /// Replaces all measurements by these speeds, of any unit; work that is added from now on is of the same.
    pub(super) fn set(&mut self, speeds: impl IntoIterator<Item = (u32, f64)>) {
        let known = |(worker, speed)| {
            let n_tasks = self.n_tasks_min.max(1.0);
            let sample = Sample { n_tasks, work: speed, time_s: 1.0 };
            let samples = [sample; N_NEWEST];
            let open = Sample::default();
            (worker, Newest { open, samples, n_samples: N_NEWEST, speed, is_heard: true })
        };
        self.workers = speeds.into_iter().map(known).collect();
        self.add_up();
    }

    /// Returns the highest speed over the mean of those known.
    pub(super) fn fastest(&self) -> f64 {
        let mean = self.sum / self.n_known.max(1) as f64;
        if 0.0 < mean { self.fastest / mean } else { 1.0 }
    }

    /// Returns each worker's speed over the mean.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let known = self.workers.iter().filter(|(_, newest)| 0.0 < newest.speed);
        known.map(|(worker, _)| (*worker, self.relative(*worker)))
    }

    pub(super) fn forget(&mut self, worker: u32) {
        self.workers.remove(&worker);
        self.add_up();
    }

    fn add_up(&mut self) {
        let known = self.workers.values().map(|newest| newest.speed).filter(|speed| 0.0 < *speed);
        (self.sum, self.fastest, self.n_known) = (0.0, 0.0, 0);
        for speed in known {
            self.sum += speed;
            self.fastest = self.fastest.max(speed);
            self.n_known += 1;
        }
    }

    /// Returns the speed of a worker over the mean of those known; 1 while its speed is not known.
    pub(super) fn relative(&self, worker: u32) -> f64 {
        let speed = self.workers.get(&worker).map_or(0.0, |newest| newest.speed);
        let mean = self.sum / self.n_known.max(1) as f64;
        if 0.0 < speed && 0.0 < mean { speed / mean } else { 1.0 }
    }

    /// Returns the same, shrunk toward 1 by as much as chance may explain (James and Stein 1961): with
    /// `deviation` of a task over its mean, the mean of `n` tasks deviates by `deviation / sqrt(n)`.
    pub(super) fn believed(&self, worker: u32, deviation: f64) -> f64 {
        let Some(newest) = self.workers.get(&worker) else { return 1.0 };
        let apart = self.relative(worker) - 1.0;
        let chance = deviation * deviation / newest.n_tasks().max(1.0);
        let believed = if apart * apart <= chance { 1.0 } else { 1.0 + apart - chance / apart };
        // The workers that return first are those that had the cheapest tasks.
        if newest.n_samples < N_NEWEST { believed.min(FASTER_AT_FIRST) } else { believed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(chunks: &[(u32, u64, f64)]) -> Speeds {
        let mut speeds = Speeds::default();
        speeds.begin(&Work { n_tasks: 320, n_workers: 2 });
        for &(worker, n_tasks, compute_s) in chunks {
            speeds.add(worker, (n_tasks, n_tasks as f64), compute_s);
        }
        speeds
    }

    /// Worker 1 computes a task per second.
    #[track_caller]
    fn check(chunks: &[(u64, f64)], expected: f64) {
        let chunks: Vec<_> = chunks.iter().map(|(n_tasks, s)| (0, *n_tasks, *s)).collect();
        let found = after(&[&[(1, 10, 10.0)], &chunks[..]].concat()).relative(0);
        assert!((found / (2.0 - found) - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn one_disturbed_chunk_changes_nothing_and_two_slow_ones_are_believed() {
        check(&[], 1.0);
        check(&[(10, 20.0)], 0.5);
        check(&[(10, 10.0), (10, 20.0)], 0.75);
        check(&[(10, 10.0), (10, 10.0), (10, 90.0)], 1.0);
        check(&[(10, 10.0), (10, 10.0), (10, 40.0), (10, 40.0)], 0.25);
    }

    #[test]
    fn small_chunks_count_together() {
        check(&[(10, 10.0), (4, 8.0), (5, 10.0)], 1.0);
        check(&[(10, 10.0), (4, 8.0), (6, 12.0), (10, 20.0)], 0.5);
        check(&[(1, 2.0)], 1.0);
        check(&[(1, 2.0), (9, 18.0)], 0.5);
    }

    #[test]
    fn chance_makes_no_difference() {
        let speeds = after(&[(0, 100, 300.0), (1, 100, 100.0)]);
        let check = |deviation: f64, expected: f64| {
            let found = speeds.believed(0, deviation);
            assert!((found - expected).abs() < 1e-12, "{found}");
        };
        check(0.0, 0.5);
        check(2.5, 0.5 + 0.25 * 0.5);
        check(5.0, 1.0);
        check(9.0, 1.0);
    }

    #[test]
    fn the_first_one_heard_is_not_much_faster() {
        let chunks = [(0, 10, 0.001), (1, 10, 10.0), (2, 10, 10.0)];
        assert!((after(&chunks).believed(0, 0.0) - 2.0).abs() < 1e-12);
        let again = [&chunks[..], &[chunks[0]; 2]].concat();
        assert!(2.9 < after(&again).believed(0, 0.0));
    }

    #[test]
    fn who_pauses_is_no_measure_for_the_others() {
        let work = Work { n_tasks: 320, n_workers: 2 };
        let mut speeds = after(&[(0, 100, 100.0), (1, 100, 100.0), (2, 100, 100.0)]);
        let two = |speeds: &mut Speeds| {
            speeds.begin(&work);
            for worker in [0, 1].repeat(N_NEWEST) {
                speeds.add(worker, (100, 100.0), 5.0);
            }
        };
        two(&mut speeds);
        two(&mut speeds);
        assert!((speeds.relative(0) - 1.0).abs() < 1e-12);
        assert!((speeds.relative(2) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let mut speeds = after(&[(0, 10, 1.0), (1, 10, 2.0), (2, 10, 1e-300)]);
        speeds.forget(2);
        speeds.forget(1);
        assert!((speeds.relative(0) - 1.0).abs() < 1e-12);
    }
}
