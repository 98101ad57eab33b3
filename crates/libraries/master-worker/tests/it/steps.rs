//! Test program whose last bits depend on every iteration before, and which records its numbers of
//! workers.

use master_worker::{
    BoxError, Iteration, IterationReport, MessageError, Plain, Program, from_bytes, to_bytes,
    tuning_points,
};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Test program; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    pub(crate) values: Vec<f64>,
    pub(crate) n_iterations: u64,
    /// Iterations after which an outside tool sets the number of workers, and these numbers.
    pub(crate) script: Vec<(u64, u32)>,
    /// Time of a task.
    pub(crate) task: Duration,
    /// Number of workers in each iteration.
    pub(crate) seen: Vec<usize>,
    /// Number of workers lost.
    pub(crate) n_lost: u64,
    /// Iteration in which rank 2 kills itself.
    pub(crate) killed_in: Option<u64>,
    /// Iteration in which task 7 never ends.
    pub(crate) stuck_in: Option<u64>,
    rank: u32,
}

impl Steps {
    pub(crate) fn new(n_iterations: u64) -> Self {
        Self {
            values: (1..=60).map(|number| f64::from(number) / 61.0).collect(),
            n_iterations,
            script: Vec::new(),
            task: Duration::ZERO,
            seen: Vec::new(),
            n_lost: 0,
            killed_in: None,
            stuck_in: None,
            rank: 0,
        }
    }

    /// Hash that differs as soon as one bit of the values does.
    pub(crate) fn digest(&self) -> u64 {
        let bits = self.values.iter().map(|value| value.to_bits());
        bits.fold(0xcbf2_9ce4_8422_2325, |hash, bits| (hash ^ bits).wrapping_mul(0x100_0000_01b3))
    }

    /// Digest after `n_iterations` iterations, computed without ranks.
    pub(crate) fn expected(n_iterations: u64) -> u64 {
        let mut steps = Self::new(n_iterations);
        for _ in 0..n_iterations {
            steps.values = (0..60).map(|task| next_value(&steps.values, task)).collect();
        }
        steps.digest()
    }

    fn kill_self(&self) {
        let pid = std::process::id().to_string();
        // The process does not return from here.
        let _killed = std::process::Command::new("kill").args(["-9", &pid]).status();
    }
}

fn next_value(values: &[f64], task: usize) -> f64 {
    let other = values[(task + 1) % values.len()];
    3.9 * values[task] * (1.0 - values[task]) * 0.9 + 0.05 * other
}

fn place(task: u64) -> usize {
    usize::try_from(task).unwrap_or(usize::MAX)
}

impl Program for Steps {
    type Shared = (u64, Vec<f64>);
    type Input = ();
    type Output = Plain<f64>;

    fn enter(&mut self, rank: u32) {
        self.rank = rank;
    }

    fn next(&mut self, iteration: u64) -> Option<Iteration<Self::Shared>> {
        let n_tasks = self.values.len() as u64;
        let shared = (iteration, self.values.clone());
        (iteration < self.n_iterations).then(|| Iteration::new(n_tasks, shared))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (iteration, values): &Self::Shared, tasks: Range<u64>, (): ()) -> Plain<f64> {
        if self.killed_in == Some(*iteration) && self.rank == 2 {
            self.kill_self();
        }
        while tasks.contains(&7) && self.stuck_in == Some(*iteration) {
            std::thread::park();
        }
        let n_tasks = u32::try_from(tasks.end - tasks.start).unwrap_or(u32::MAX);
        let began = Instant::now();
        let results = tasks.map(|task| next_value(values, place(task))).collect();
        // Sleeps instead of computing, so that ranks do not take each other's cores.
        std::thread::sleep((self.task * n_tasks).saturating_sub(began.elapsed()));
        results
    }

    fn recover(&mut self, tasks: Range<u64>, output: Plain<f64>) {
        self.values[place(tasks.start)..place(tasks.end)].copy_from_slice(&output);
    }

    fn end_iteration(&mut self, report: &IterationReport) {
        self.seen.push(report.workers.iter().filter(|worker| worker.rank != 0).count());
        self.n_lost += report.n_lost;
        let set = self.script.iter().find(|(after, _)| *after == report.iteration);
        if let Some((_, n_workers)) = set {
            tuning_points::set_n_workers(*n_workers);
        }
    }

    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        to_bytes(&self.values).map(Some)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        self.values = from_bytes(saved)?;
        Ok(())
    }
}
