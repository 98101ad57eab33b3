//! Tasks of a scenario, in the order of their arrival.

use super::central::nanoseconds;
use super::machine::Task;
use super::scenario::{Arrivals, Durations, Scenario};
use random::Random;

/// Tasks that are still to arrive.
#[derive(Debug)]
pub(super) struct Tasks {
    random: Random,
    n_come: u64,
    next_s: f64,
}

impl Tasks {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { random: Random::new(scenario.seed), n_come: 0, next_s: 0.0 }
    }

    /// Returns the next task, with the time of its arrival in ns.
    pub(super) fn next(&mut self, scenario: &Scenario) -> Option<(u64, Task)> {
        if self.n_come == scenario.n_tasks {
            return None;
        }
        let came_ns = nanoseconds(self.next_s);
        let home = scenario.entry(self.n_come);
        let task = Task { work_s: self.work_s(scenario.durations), came_ns, home };
        self.n_come += 1;
        self.next_s = match scenario.arrivals {
            Arrivals::Every { gap_s } => self.n_come as f64 * gap_s,
            Arrivals::Random { gap_s } => self.next_s + gap_s * self.random.exponential(),
        };
        Some((came_ns, task))
    }

    fn work_s(&mut self, durations: Durations) -> f64 {
        match durations {
            Durations::Constant { task_s } => task_s,
            Durations::Exponential { mean_s } => mean_s * self.random.exponential(),
            Durations::Uniform { low_s, high_s } => low_s + (high_s - low_s) * self.random.share(),
        }
    }
}
