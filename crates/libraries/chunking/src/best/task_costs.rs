//! What each task costs, learnt from the chunks of earlier iterations.
//!
//! A *cost* is the computing time on a worker of mean speed, in seconds. A chunk tells the sum of its tasks' costs: they
//! are scaled so that their sum is right, which keeps what earlier chunks with other borders told about its parts.
//!
//! Who computed a task says as much about its time as the task itself. While no profile is known, the speed of a worker is
//! the median, over its chunks, of how much less time they took than the chunks beside them in the order of tasks;
//! blocks of expensive tasks have few borders, so they make no worker slow.

use super::seen::SeenChunk;
use super::trust::middle_and_deviation;
use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;
use std::ops::Range;

/// Largest number of costs kept; of more tasks, consecutive ones share one.
const N_BINS_MAX: u64 = 1 << 16;
/// Rounds in which speeds and costs are told apart.
const N_ROUNDS: usize = 16;
/// Cost of a task that takes no time, in seconds.
const COST_MIN_S: f64 = 1e-9;
/// A worker with fewer chunks has the mean speed.
const N_CHUNKS_MIN: f64 = 4.0;
/// Weight of the newest iteration in a profile that was right about it.
const NEWEST: f64 = 0.5;

/// Costs of the tasks of iterations with one number of tasks.
#[derive(Clone, Debug)]
pub(super) struct TaskCosts {
    n_tasks: u64,
    /// Tasks that share one cost.
    width: u64,
    /// Cost of one task of each bin, in seconds.
    costs_s: Vec<f64>,
}

impl TaskCosts {
    fn flat(n_tasks: u64, cost_s: f64) -> Self {
        let width = n_tasks.div_ceil(N_BINS_MAX).max(1);
        let n_bins = usize::try_from(n_tasks.div_ceil(width)).unwrap_or(0);
        Self { n_tasks, width, costs_s: vec![cost_s.max(COST_MIN_S); n_bins] }
    }

    /// Learns from the chunks of one iteration, given what was known before it.
    pub(super) fn learnt(
        n_tasks: u64,
        before: Option<&Self>,
        chunks: &[SeenChunk],
        speeds: &BTreeMap<u32, f64>,
    ) -> Option<Self> {
        let costs = || chunks.iter().map(|chunk| chunk.cost_s(speeds));
        let n_seen: u64 = chunks.iter().map(|chunk| chunk.n_tasks).sum();
        let mean_s = costs().sum::<f64>() / n_seen.max(1) as f64;
        if n_seen == 0 || !mean_s.is_finite() || mean_s <= 0.0 {
            return None;
        }
        let mut profile = before.cloned().unwrap_or_else(|| Self::flat(n_tasks, mean_s));
        let weight = if before.is_some() { NEWEST } else { 1.0 };
        for (chunk, cost_s) in chunks.iter().zip(costs()) {
            profile.scale(&chunk.tasks(), cost_s, weight);
        }
        Some(profile)
    }

    fn bins(&self, tasks: &Range<u64>) -> Range<usize> {
        let at = |task: u64| usize::try_from(task / self.width).unwrap_or(usize::MAX);
        let n_bins = self.costs_s.len();
        at(tasks.start).min(n_bins)..at(tasks.end.saturating_sub(1)).saturating_add(1).min(n_bins)
    }

    /// Tasks of a bin.
    fn tasks(&self, bin: usize) -> Range<u64> {
        let start = bin as u64 * self.width;
        start..(start + self.width).min(self.n_tasks)
    }

    fn scale(&mut self, tasks: &Range<u64>, cost_s: f64, weight: f64) {
        let ratio = (cost_s.max(COST_MIN_S) / self.cost_s(tasks).max(COST_MIN_S)).powf(weight);
        for bin in self.bins(tasks) {
            let of_bin = self.tasks(bin);
            let n_common = tasks.end.min(of_bin.end).saturating_sub(tasks.start.max(of_bin.start));
            let share = n_common as f64 / (of_bin.end - of_bin.start) as f64;
            let cost_s = &mut self.costs_s[bin];
            *cost_s = (*cost_s * (1.0 + share * (ratio - 1.0))).max(COST_MIN_S);
        }
    }

    /// Cost of one task, in seconds.
    pub(super) fn task_s(&self, task: u64) -> f64 {
        self.costs_s.get(self.bins(&(task..task + 1)).start).copied().unwrap_or(COST_MIN_S)
    }

    /// Cost of these tasks together, in seconds.
    pub(super) fn cost_s(&self, tasks: &Range<u64>) -> f64 {
        let mut sum_s = 0.0;
        for bin in self.bins(tasks) {
            let of_bin = self.tasks(bin);
            let n_common = tasks.end.min(of_bin.end).saturating_sub(tasks.start.max(of_bin.start));
            sum_s += self.costs_s[bin] * n_common as f64;
        }
        sum_s
    }

    /// Number of tasks, from the first of these on, that cost at most `budget_s` together; at least one.
    pub(super) fn n_within(&self, tasks: &Range<u64>, budget_s: f64) -> u64 {
        let (mut left_s, mut n_tasks) = (budget_s, 0);
        for bin in self.bins(tasks) {
            let of_bin = self.tasks(bin);
            let (start, end) = (of_bin.start.max(tasks.start), of_bin.end.min(tasks.end));
            let n_here = end.saturating_sub(start);
            let cost_s = self.costs_s[bin];
            if left_s < cost_s * n_here as f64 {
                return (n_tasks + whole(left_s / cost_s)).max(1);
            }
            left_s -= cost_s * n_here as f64;
            n_tasks += n_here;
        }
        n_tasks.max(1)
    }

    /// Deviation of the logarithms of the costs.
    pub(super) fn deviation(&self) -> f64 {
        let logs: Vec<f64> = self.costs_s.iter().map(|cost_s| cost_s.ln()).collect();
        middle_and_deviation(&logs).1
    }

    /// Cost of all tasks, in seconds.
    pub(super) fn total_s(&self) -> f64 {
        self.cost_s(&(0..self.n_tasks))
    }

    /// Ranges of tasks with nearly the same cost, with the [`class`] of it, in the order of tasks.
    pub(super) fn runs(&self) -> Vec<(i32, Range<u64>)> {
        let mut runs: Vec<(i32, Range<u64>)> = Vec::new();
        for (bin, cost_s) in self.costs_s.iter().enumerate() {
            let (class, tasks) = (class(*cost_s), self.tasks(bin));
            match runs.last_mut() {
                Some((last, run)) if *last == class => run.end = tasks.end,
                _ => runs.push((class, tasks)),
            }
        }
        runs
    }
}

/// Classes of cost for a factor of two.
const N_CLASSES: f64 = 4.0;

/// Returns the class of a cost: classes are a quarter of a power of two wide, and dear ones are larger.
#[expect(clippy::cast_possible_truncation, reason = "costs are between a nanosecond and decades")]
pub(super) fn class(cost_s: f64) -> i32 {
    (N_CLASSES * cost_s.max(COST_MIN_S).log2()).round() as i32
}

#[expect(clippy::cast_possible_truncation, reason = "a conversion of floats saturates")]
#[expect(clippy::cast_sign_loss, reason = "a conversion of floats saturates")]
fn whole(n_tasks: f64) -> u64 {
    n_tasks.max(0.0) as u64
}

/// Returns the speed of each worker over the mean, as far as its chunks differ from what is known of their tasks or, without
/// a profile, from the chunks beside them.
pub(super) fn speeds(chunks: &[SeenChunk], before: Option<&TaskCosts>) -> BTreeMap<u32, f64> {
    let mut sorted: Vec<&SeenChunk> = chunks.iter().filter(|chunk| 0.0 < chunk.compute_s).collect();
    sorted.sort_by_key(|chunk| chunk.first);
    let logs: Vec<f64> = sorted.iter().map(|chunk| chunk.task_s().ln()).collect();
    let mut speeds: BTreeMap<u32, f64> = sorted.iter().map(|chunk| (chunk.worker, 0.0)).collect();
    for _ in 0..N_ROUNDS {
        let mut apart: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (k, chunk) in sorted.iter().enumerate() {
            let log_cost = |k: usize| Some(logs.get(k)? + speeds[&sorted[k].worker]);
            let expected = match before {
                Some(profile) => Some((profile.cost_s(&chunk.tasks()) / chunk.n_tasks as f64).ln()),
                None => match (k.checked_sub(1).and_then(log_cost), log_cost(k + 1)) {
                    (Some(one), Some(other)) => Some(f64::midpoint(one, other)),
                    (one, other) => one.or(other),
                },
            };
            if let Some(expected) = expected {
                apart.entry(chunk.worker).or_default().push(expected - logs[k]);
            }
        }
        believe(apart, &mut speeds);
    }
    let n_speeds = speeds.len().max(1) as f64;
    let mean = speeds.values().map(|log| log.exp()).sum::<f64>() / n_speeds;
    speeds.into_iter().map(|(worker, log)| (worker, log.exp() / mean)).collect()
}

/// Takes over the median of what each worker's chunks say of the logarithm of its speed, shrunk toward the mean of all by as
/// much as chance may explain (James and Stein 1961).
fn believe(mut apart: BTreeMap<u32, Vec<f64>>, speeds: &mut BTreeMap<u32, f64>) {
    let mut off = Vec::new();
    let mut found = Vec::new();
    for (worker, apart) in &mut apart {
        let (middle, _) = middle_and_deviation(apart);
        off.extend(apart.iter().map(|apart| apart - middle));
        found.push((*worker, middle, apart.len() as f64));
    }
    let n = found.len().max(1) as f64;
    // Deviations from medians of few values are too small.
    let n_off = (off.len() as f64 - n).max(1.0);
    let (_, deviation) = middle_and_deviation(&off);
    let variance = deviation * deviation * off.len() as f64 / n_off;
    let mean = found.iter().map(|(_, log, _)| log).sum::<f64>() / n;
    let spread = found.iter().map(|(_, log, _)| (log - mean).powi(2)).sum::<f64>() / n;
    // The variance of a median is larger than that of a mean by pi/2.
    let chance_of = |n_chunks: f64| FRAC_PI_2 * variance / n_chunks;
    let chance = found.iter().map(|(_, _, n_chunks)| chance_of(*n_chunks)).sum::<f64>() / n;
    let real = (spread - chance).max(0.0);
    for (worker, log, n_chunks) in found {
        let is_enough = N_CHUNKS_MIN <= n_chunks;
        let share = real / (real + chance_of(n_chunks)).max(f64::MIN_POSITIVE);
        let found = if is_enough { share * (log - mean) } else { 0.0 };
        // Halfway: where two groups of workers are neighbors of each other only, full steps would go to and fro.
        speeds.entry(worker).and_modify(|speed| *speed = f64::midpoint(*speed, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(worker: u32, first: u64, n_tasks: u64, compute_s: f64) -> SeenChunk {
        SeenChunk { worker, first, n_tasks, compute_s, speed: 1.0 }
    }

    /// Costs of single tasks after these chunks of a first iteration, all on one worker.
    #[track_caller]
    fn check(chunks: &[(u64, u64, f64)], expected: &[f64]) {
        let chunks: Vec<_> = chunks.iter().map(|&(first, n, s)| chunk(0, first, n, s)).collect();
        let n_tasks = expected.len() as u64;
        let profile = TaskCosts::learnt(n_tasks, None, &chunks, &BTreeMap::new()).unwrap();
        for (task, cost_s) in (0..).zip(expected) {
            assert!((profile.task_s(task) - cost_s).abs() < 1e-9, "{task}: {profile:?}");
        }
        assert!((profile.total_s() - expected.iter().sum::<f64>()).abs() < 1e-9);
    }

    #[test]
    fn tasks_of_a_chunk_share_its_time_and_others_cost_the_mean() {
        check(&[(0, 2, 4.0), (2, 1, 5.0)], &[2.0, 2.0, 5.0, 3.0]);
        check(&[(0, 1, 0.0), (1, 1, 1.0)], &[1e-9, 1.0]);
    }

    #[test]
    fn other_borders_tell_of_parts() {
        let before = TaskCosts::flat(4, 1.0);
        let learn = |before: &TaskCosts, chunks: &[SeenChunk]| {
            TaskCosts::learnt(4, Some(before), chunks, &BTreeMap::new()).unwrap()
        };
        let mut profile = before;
        for _ in 0..40 {
            profile = learn(&profile, &[chunk(0, 0, 2, 11.0), chunk(0, 2, 2, 2.0)]);
            profile = learn(&profile, &[chunk(0, 0, 1, 1.0), chunk(0, 1, 3, 12.0)]);
        }
        let found: Vec<f64> = (0..4).map(|task| profile.task_s(task).round()).collect();
        assert_eq!(found, [1.0, 10.0, 1.0, 1.0]);
    }

    #[test]
    fn a_budget_is_kept_but_for_the_first_task() {
        let chunks = [chunk(0, 0, 1, 5.0), chunk(0, 1, 3, 3.0)];
        let profile = TaskCosts::learnt(4, None, &chunks, &BTreeMap::new()).unwrap();
        for (tasks, budget_s, expected) in
            [(0..4, 1.0, 1), (0..4, 6.5, 2), (1..4, 2.0, 2), (1..3, 9.0, 2), (1..4, 0.0, 1)]
        {
            assert_eq!(profile.n_within(&tasks, budget_s), expected, "{tasks:?} {budget_s}");
        }
    }

    #[test]
    fn many_tasks_share_few_costs() {
        let n_tasks = 10 * N_BINS_MAX + 3;
        let chunks =
            [chunk(0, 0, n_tasks / 2, 5.0), chunk(0, n_tasks / 2, n_tasks.div_ceil(2), 50.0)];
        let profile = TaskCosts::learnt(n_tasks, None, &chunks, &BTreeMap::new()).unwrap();
        assert!(profile.costs_s.len() as u64 <= N_BINS_MAX);
        assert!((profile.total_s() / 55.0 - 1.0).abs() < 1e-3, "{}", profile.total_s());
        assert_eq!(profile.runs().last().unwrap().1.end, n_tasks);
    }

    #[test]
    fn a_block_makes_no_worker_slow_and_a_slow_worker_no_block() {
        let compute_s = |task: u64, worker: u32| {
            let cost_s = if (100..200).contains(&task) { 50.0 } else { 1.0 };
            cost_s * if worker == 2 { 4.0 } else { 1.0 }
        };
        // Worker 1 gets most of the block.
        let worker = |task: u64| match task {
            100..190 if !task.is_multiple_of(4) => 1,
            _ => u32::try_from(task % 4).unwrap(),
        };
        let chunks: Vec<_> = (0..1000)
            .map(|task| chunk(worker(task), task, 1, compute_s(task, worker(task))))
            .collect();
        let speeds = speeds(&chunks, None);
        assert!((speeds[&0] / speeds[&1] - 1.0).abs() < 0.05, "{speeds:?}");
        assert!((speeds[&0] / speeds[&2] / 4.0 - 1.0).abs() < 0.05, "{speeds:?}");
        let profile = TaskCosts::learnt(1000, None, &chunks, &speeds).unwrap();
        let ratio = profile.task_s(150) / profile.task_s(550);
        assert!((ratio / 50.0 - 1.0).abs() < 0.05, "{ratio}");
    }
}
