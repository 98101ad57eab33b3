//! Progress of a run, in words.

use crate::report::IterationReport;
use display::bars;
use display::units::{plural, seconds};

/// Weight of the newest iteration in the mean time of an iteration.
const WEIGHT: f64 = 0.25;
const N_COLUMNS: usize = 20;

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProgressLine {
    n_iterations: Option<u64>,
    /// Number of this run's first iteration.
    first: Option<u64>,
    iteration: u64,
    n_tasks: u64,
    n_open: u64,
    n_workers: u32,
    /// Running mean of an iteration's time, in seconds; the newest ones count most.
    usual_s: Option<f64>,
    /// Share of the last iteration's time in which workers computed.
    efficiency: f64,
}

impl ProgressLine {
    pub(super) fn new(n_iterations: Option<u64>) -> Self {
        Self { n_iterations, ..Self::default() }
    }

    pub(super) fn begin(&mut self, iteration: u64, n_tasks: u64, n_workers: u32) {
        self.first.get_or_insert(iteration);
        (self.iteration, self.n_tasks, self.n_open) = (iteration, n_tasks, n_tasks);
        self.n_workers = n_workers;
    }

    pub(super) fn see(&mut self, n_open: u64) {
        self.n_open = n_open.min(self.n_tasks);
    }

    pub(super) fn end(&mut self, report: &IterationReport) {
        let duration_s = report.duration_s;
        let usual_s = self.usual_s.unwrap_or(duration_s);
        self.usual_s = Some(usual_s + WEIGHT * (duration_s - usual_s));
        self.efficiency = report.efficiency();
        self.n_open = 0;
    }

    /// Progress as one line of text.
    pub(super) fn words(&self) -> String {
        let mut text = format!(
            "iteration {}{}: {} of {} tasks, {}",
            self.iteration + 1,
            self.n_iterations.map_or_else(String::new, |n| format!(" of {n}")),
            self.n_tasks - self.n_open,
            self.n_tasks,
            plural(self.n_workers, "worker")
        );
        if let Some(usual_s) = self.usual_s {
            text += &format!(
                ", {:.0} % busy; {} per iteration",
                100.0 * self.efficiency,
                seconds(usual_s)
            );
        }
        if let Some(left_s) = self.left_s() {
            text += &format!(", {} left", seconds(left_s));
        }
        text
    }

    /// The same line behind a progress bar.
    pub(super) fn picture(&self) -> String {
        let bar = bars::gauge(self.done(), N_COLUMNS).concat();
        format!("{bar} {:3.0} %  {}", 100.0 * self.done(), self.words())
    }

    /// Share that is done: of the run if its number of iterations is known, else of the iteration.
    fn done(&self) -> f64 {
        let part = 1.0 - self.n_open as f64 / self.n_tasks.max(1) as f64;
        match self.n_iterations {
            Some(n) => (self.iteration as f64 + part) / n.max(1) as f64,
            None => part,
        }
    }

    fn left_s(&self) -> Option<f64> {
        let n_left = self.n_iterations?.saturating_sub(self.iteration) as f64;
        let part = 1.0 - self.n_open as f64 / self.n_tasks.max(1) as f64;
        Some((n_left - part).max(0.0) * self.usual_s?)
    }
}
