//! The order of runs, and an estimate of the time that the remaining ones take.

use crate::plan::{GridPoint, Plan};
use random::Random;

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScheduledRun {
    /// Index of the point in [`Plan::points`].
    pub point: usize,
    /// Repetition of the point, from 0.
    pub repetition: u32,
}

/// Returns all runs: each repetition goes through all points in its own random order.
///
/// So slow changes of the machine affect all points equally, and an interrupted experiment has run all
/// points about equally often. More repetitions only add runs at the end.
pub fn runs(n_points: usize, repetitions: u32, seed: u64) -> Vec<ScheduledRun> {
    let mut random = Random::new(seed);
    let round = |repetition| {
        let mut round: Vec<ScheduledRun> =
            (0..n_points).map(|point| ScheduledRun { point, repetition }).collect();
        for last in (1..round.len()).rev() {
            round.swap(last, random.below(last + 1));
        }
        round
    };
    (0..repetitions).flat_map(round).collect()
}

/// Estimates the time of the remaining runs from the times so far.
#[derive(Clone, Debug, Default)]
pub struct TimeEstimator {
    /// Number of runs and their total time in seconds, by point.
    points: Vec<(u32, f64)>,
    expected_s: Vec<Option<f64>>,
}

impl TimeEstimator {
    /// Creates an estimate without measured runs.
    pub fn new(plan: &Plan, points: &[GridPoint]) -> Self {
        let expected_s = points.iter().map(|point| plan.expected_s(point)).collect();
        Self { points: vec![(0, 0.0); points.len()], expected_s }
    }

    /// Adds the time that a run took from start to end, including its overhead.
    pub fn add(&mut self, point: usize, wall_s: f64) {
        if let Some((n, total_s)) = self.points.get_mut(point) {
            *n += 1;
            *total_s += wall_s;
        }
    }

    /// Returns the estimated time of these runs, in seconds; `None` while there is nothing to base it on.
    pub fn remaining_s(&self, left: &[ScheduledRun]) -> Option<f64> {
        left.iter().map(|run| self.one_s(run.point)).sum()
    }

    /// Returns the mean time of the point's own runs; else the time that the plan expects, corrected by its
    /// error so far; else the mean over all runs.
    fn one_s(&self, point: usize) -> Option<f64> {
        let (n, total_s) = *self.points.get(point)?;
        if 0 < n {
            return Some(total_s / f64::from(n));
        }
        if let Some(expected_s) = self.expected_s[point] {
            return Some(expected_s * self.slowness());
        }
        let n: u32 = self.points.iter().map(|(n, _)| n).sum();
        let total_s: f64 = self.points.iter().map(|(_, total_s)| total_s).sum();
        (0 < n).then(|| total_s / f64::from(n))
    }

    /// Returns measured over expected time of the runs so far.
    fn slowness(&self) -> f64 {
        let done = self.points.iter().zip(&self.expected_s).filter(|((n, _), _)| 0 < *n);
        let (mut taken_s, mut expected_s) = (0.0, 0.0);
        for ((n, total_s), expected) in done {
            taken_s += total_s;
            expected_s += expected.unwrap_or_default() * f64::from(*n);
        }
        if 0.0 < expected_s { taken_s / expected_s } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_round_has_every_point_once(n_points in 0_usize..40, n in 0_u32..5, seed: u64) {
            let runs = runs(n_points, n, seed);
            for (repetition, round) in (0..n).zip(runs.chunks(n_points.max(1))) {
                let mut points: Vec<usize> = round.iter().map(|run| run.point).collect();
                points.sort_unstable();
                prop_assert_eq!(points, (0..n_points).collect::<Vec<_>>());
                prop_assert!(round.iter().all(|run| run.repetition == repetition));
            }
        }

        #[test]
        fn more_repetitions_come_behind(n_points in 1_usize..20, seed: u64) {
            prop_assert_eq!(&runs(n_points, 5, seed)[..3 * n_points], runs(n_points, 3, seed));
        }
    }

    #[test]
    fn rounds_and_seeds_differ() {
        let order = |seed| runs(30, 2, seed).iter().map(|run| run.point).collect::<Vec<_>>();
        assert_ne!(order(1), order(2));
        assert_ne!(order(1)[..30], order(1)[30..]);
        assert_eq!(order(1), order(1));
    }

    #[test]
    fn what_is_left_is_told_from_what_was() {
        let plan = "command = 'x'\nparameters = { n = [1, 2, 3] }\n";
        let left = runs(3, 1, 1);
        let pace = |text: &str, done: &[(usize, f64)]| {
            let plan = Plan::read(text).unwrap();
            let mut pace = TimeEstimator::new(&plan, &plan.points().unwrap());
            done.iter().for_each(|(point, wall_s)| pace.add(*point, *wall_s));
            pace.remaining_s(&left)
        };
        assert_eq!(pace(plan, &[]), None);
        assert_eq!(pace(plan, &[(0, 1.0), (0, 3.0), (1, 5.0)]), Some(2.0 + 5.0 + 3.0));
        let expecting = format!("expected_s = '2 * n'\n{plan}");
        assert_eq!(pace(&expecting, &[]), Some(12.0));
        assert_eq!(pace(&expecting, &[(0, 4.0)]), Some(4.0 + 8.0 + 12.0));
    }
}
