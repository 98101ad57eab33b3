//! Tasks of a scenario, in the order of their arrival.

use super::processor_sharing::SimulatedTask;
use super::scenario::{Arrivals, Durations, Scenario};
use random::Random;

/// Tasks that are still to arrive.
#[derive(Debug)]
pub(super) struct Tasks {
    random: Random,
    n_arrived: u64,
    next_s: f64,
}

impl Tasks {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { random: Random::new(scenario.seed), n_arrived: 0, next_s: 0.0 }
    }

    /// Returns the next task, with the time of its arrival in ns.
    pub(super) fn next(&mut self, scenario: &Scenario) -> Option<(u64, SimulatedTask)> {
        if self.n_arrived == scenario.n_tasks {
            return None;
        }
        let home = scenario.entry(self.n_arrived);
        if let Some(trace) = &scenario.trace {
            let task = trace.get(usize::try_from(self.n_arrived).ok()?)?;
            let arrival_ns = nanoseconds(task.arrival_s);
            self.n_arrived += 1;
            return Some((arrival_ns, SimulatedTask { work_s: task.work_s, arrival_ns, home }));
        }
        let arrival_ns = nanoseconds(self.next_s);
        let work_s = scenario.durations.draw(&mut self.random);
        let task = SimulatedTask { work_s, arrival_ns, home };
        self.n_arrived += 1;
        self.next_s = match scenario.arrivals {
            Arrivals::Every { gap_s } => self.n_arrived as f64 * gap_s,
            Arrivals::Random { gap_s } => self.next_s + gap_s * self.random.exponential(),
        };
        Some((arrival_ns, task))
    }
}

impl Durations {
    /// Draws a duration, in s.
    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Constant { task_s } => task_s,
            Self::Exponential { mean_s } => mean_s * random.exponential(),
            Self::Lognormal { median_s, sigma } => median_s * (sigma * random.normal()).exp(),
            Self::Uniform { low_s, high_s } => low_s + (high_s - low_s) * random.share(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a scenario's times are checked")]
#[expect(clippy::cast_sign_loss, reason = "a scenario's times are checked")]
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
