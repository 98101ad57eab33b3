//! Random cases on which a policy is judged: what tasks cost, who computes them, and what a chunk costs.
//!
//! 3 to 127 workers, 100 to 400 tasks for each of 1 to 10 ms in the mean, chunks that need 2 to 200 us to arrive and are
//! asked for ahead. Costs are even, log-normal, falling, rising, or dear by 2 to 100 times in one to three blocks; workers are
//! equal, have speeds from 1 to 4, or one slows down by 1.5 to 4 times at a random moment. The first iteration is judged by
//! itself, as nothing is learnt yet.
//!
//! Each iteration is compared with a bound that no order of whole tasks can beat: all work split perfectly among the speeds
//! from its begin on, or its largest task on whoever would end it first, whichever is later.

use crate::chunking::machine::{Machine, Slowdown, Speeds};
use crate::chunking::run::{Scenario, simulate};
use crate::chunking::workload::Workload;
use crate::ratios::Ratios;
use chunking::PolicySpec;
use random::Random;

/// What tasks of a case cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// Evenly distributed around the mean.
    Even,
    /// Log-normal, each task by itself.
    Lognormal,
    /// Falling with the number of the task.
    Falling,
    /// Rising with the number of the task.
    Rising,
    /// Dear in one to three blocks.
    Blocks,
}

/// Workers of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// All alike.
    Equal,
    /// Speeds from 1 to 4.
    Unequal,
    /// One slows down at some moment.
    OneSlows,
}

/// What later iterations have of the costs of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Later {
    /// The same.
    #[default]
    Same,
    /// Drawn anew.
    Anew,
    /// Those of the tasks in reverse order, and then again the same.
    Reversed,
}

/// A case: a scenario, and what was drawn for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Seed that makes it again.
    pub seed: u64,
    /// What tasks cost.
    pub costs: Costs,
    /// Workers.
    pub workers: Workers,
    /// The scenario.
    pub scenario: Scenario,
}

impl Case {
    /// Draws a case of `n_iterations` iterations.
    ///
    /// # Panics
    /// Never: the sum of the costs drawn is above 0 and finite.
    #[expect(clippy::cast_possible_truncation, reason = "numbers of workers are small")]
    #[expect(clippy::cast_sign_loss, reason = "powers are positive")]
    pub fn drawn(seed: u64, n_iterations: u32, later: Later) -> Self {
        let mut random = Random::stream(seed, 0);
        let of = |low: f64, high: f64, random: &mut Random| low * (high / low).powf(random.share());
        let n_workers = of(3.0, 128.0, &mut random) as u32;
        let n_each = of(100.0, 400.0, &mut random);
        let n_tasks = (n_each * f64::from(n_workers)) as u64;
        let mean_s = of(1e-3, 10e-3, &mut random);
        let overhead_s = of(2e-6, 200e-6, &mut random);
        let costs = [Costs::Even, Costs::Lognormal, Costs::Falling, Costs::Rising, Costs::Blocks]
            [random.below(5)];
        let workers = [Workers::Equal, Workers::Unequal, Workers::OneSlows][random.below(3)];
        let mut machine = Machine { prefetch: true, ..Machine::new(n_workers, overhead_s) };
        machine.slowdowns = match workers {
            Workers::Equal => Vec::new(),
            Workers::Unequal => (0..n_workers)
                .map(|worker| Slowdown { worker, factor: 4.0 / of(1.0, 4.0, &mut random), at: 0.0 })
                .collect(),
            Workers::OneSlows => vec![Slowdown {
                worker: random.below(n_workers as usize) as u32,
                factor: of(1.5, 4.0, &mut random),
                at: random.share(),
            }],
        };
        let drawn = |number: u32| {
            let tasks = costs.drawn(n_tasks, &mut Random::stream(seed, number));
            let scale = mean_s * n_tasks as f64 / tasks.iter().sum::<f64>();
            tasks.into_iter().map(|cost| cost * scale).collect::<Vec<f64>>()
        };
        let workload = |tasks: &[f64]| Workload::new(tasks.iter().copied()).expect("finite work");
        let first = drawn(1);
        let later = match later {
            Later::Same => Vec::new(),
            Later::Anew => (2..n_iterations + 1).map(|number| workload(&drawn(number))).collect(),
            Later::Reversed => {
                let reversed: Vec<f64> = first.iter().rev().copied().collect();
                vec![workload(&reversed), workload(&first)]
            }
        };
        let workload = workload(&first);
        let scenario = Scenario { workload, later, machine, n_iterations, n_tasks_min: 1 };
        Self { seed, costs, workers, scenario }
    }

    /// Plays the case; returns the time of each iteration over its bound.
    pub fn over_bound(&self, spec: &PolicySpec) -> Vec<f64> {
        let mut ends_s = vec![0.0_f64; self.scenario.n_iterations as usize];
        simulate(&self.scenario, spec, &mut |span| {
            let end_s = &mut ends_s[span.iteration as usize];
            *end_s = end_s.max(span.end_s);
        });
        let speeds = Speeds::new(&self.scenario.machine, self.scenario.work_s());
        let mut begin_s = 0.0;
        let over = (0..).zip(ends_s).map(|(iteration, end_s)| {
            let workload = self.scenario.workload_of(iteration);
            let split_s = speeds.ideal_after_s(begin_s, workload.work_s());
            let largest_s = workload.largest_s();
            let workers = 0..self.scenario.machine.n_workers;
            let ends = workers.map(|worker| speeds.end_s(worker, begin_s, largest_s));
            let bound_s = split_s.max(ends.fold(f64::INFINITY, f64::min));
            let over = (end_s - begin_s) / (bound_s - begin_s);
            begin_s = end_s;
            over
        });
        over.collect()
    }
}

impl Costs {
    /// Draws the cost of each task, in any unit.
    #[expect(clippy::cast_possible_truncation, reason = "a share of what is in memory")]
    #[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
    fn drawn(self, n_tasks: u64, random: &mut Random) -> Vec<f64> {
        let last = n_tasks.saturating_sub(1).max(1) as f64;
        match self {
            Self::Even => {
                let width = random.share();
                (0..n_tasks).map(|_| 1.0 + width * (random.share() - 0.5)).collect()
            }
            Self::Lognormal => {
                let sigma = 0.2 + 1.3 * random.share();
                (0..n_tasks).map(|_| (sigma * random.normal()).exp()).collect()
            }
            Self::Falling | Self::Rising => {
                let slope = 1.0 + 9.0 * random.share();
                let at = |task: u64| 1.0 + slope * task as f64 / last;
                let tasks: Vec<f64> = (0..n_tasks).map(at).collect();
                if self == Self::Rising { tasks } else { tasks.into_iter().rev().collect() }
            }
            Self::Blocks => {
                let mut tasks = vec![1.0; usize::try_from(n_tasks).unwrap_or(0)];
                for _ in 0..=random.below(3) {
                    let factor = 2.0 * 50.0_f64.powf(random.share());
                    let share = 0.005 * 60.0_f64.powf(random.share());
                    let n_dear = ((share * tasks.len() as f64).ceil() as usize).max(1);
                    let start = random.below(tasks.len() - n_dear + 1);
                    tasks[start..start + n_dear].fill(factor);
                }
                tasks.iter_mut().for_each(|task| *task *= 0.95 + 0.1 * random.share());
                tasks
            }
        }
    }
}

/// What became of a policy in many cases; times of iterations over their bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Name of the policy.
    pub policy: &'static str,
    /// First iterations.
    pub first: Ratios,
    /// All later iterations.
    pub later: Ratios,
    /// Share of the cases whose first iteration took at most 5 % longer than with the best of the policies that are told
    /// nothing beforehand.
    pub first_near_best: f64,
    /// The same for all iterations together.
    pub all_near_best: f64,
}

/// A policy counts as near the best one when it takes at most so many times as long.
const NEAR: f64 = 1.05;

/// Plays the cases with all policies that are told nothing beforehand, in the order of [`chunking::all`].
pub fn judge(cases: &[Case]) -> Vec<Judgement> {
    let specs: Vec<&PolicySpec> =
        chunking::all().iter().filter(|spec| !spec.assumes_known).collect();
    let played: Vec<Vec<Vec<f64>>> =
        cases.iter().map(|case| specs.iter().map(|spec| case.over_bound(spec)).collect()).collect();
    let near = |policy: usize, of: &dyn Fn(&[f64]) -> f64| {
        let is_near = |case: &&Vec<Vec<f64>>| {
            let best = case.iter().map(|ratios| of(ratios)).fold(f64::INFINITY, f64::min);
            of(&case[policy]) <= NEAR * best
        };
        played.iter().filter(is_near).count() as f64 / cases.len().max(1) as f64
    };
    let of_policy = |(policy, spec): (usize, &&PolicySpec)| {
        let first = played.iter().filter_map(|case| case[policy].first().copied());
        let later = played.iter().flat_map(|case| case[policy].iter().skip(1).copied());
        Judgement {
            policy: spec.name,
            first: Ratios::of(first.collect()),
            later: Ratios::of(later.collect()),
            first_near_best: near(policy, &|ratios| ratios.first().copied().unwrap_or(1.0)),
            all_near_best: near(policy, &|ratios| ratios.iter().sum()),
        }
    };
    specs.iter().enumerate().map(of_policy).collect()
}
