//! Progress of a run, in words.

use crate::report::IterationReport;

/// Weight of the newest iteration in the mean time of an iteration.
const WEIGHT: f64 = 0.25;
const N_COLUMNS: usize = 20;
const EIGHTHS: [char; 8] = ['·', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

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
            counted(self.n_workers)
        );
        if let Some(usual_s) = self.usual_s {
            text += &format!(
                ", {:.0} % busy; {} per iteration",
                100.0 * self.efficiency,
                time(usual_s)
            );
        }
        if let Some(left_s) = self.left_s() {
            text += &format!(", {} left", time(left_s));
        }
        text
    }

    /// The same line behind a progress bar.
    pub(super) fn picture(&self) -> String {
        format!("{} {:3.0} %  {}", bar(self.done()), 100.0 * self.done(), self.words())
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

fn counted(n_workers: u32) -> String {
    if n_workers == 1 { "1 worker".to_owned() } else { format!("{n_workers} workers") }
}

/// Formats a time span for people.
fn time(span_s: f64) -> String {
    match span_s {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Draws a bar that is exact to an eighth of a column.
#[expect(clippy::cast_possible_truncation, reason = "a conversion of floats saturates")]
#[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
fn bar(share: f64) -> String {
    let n_eighths = (share.clamp(0.0, 1.0) * (8 * N_COLUMNS) as f64).round() as usize;
    let columns = (0..N_COLUMNS).map(|column| match n_eighths.saturating_sub(8 * column) {
        n if 8 <= n => '█',
        n => EIGHTHS[n],
    });
    columns.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, expected: &str) {
        assert_eq!(bar(share), expected);
    }

    #[test]
    fn a_bar_is_as_long_as_what_is_done() {
        check(0.0, "····················");
        check(0.5, "██████████··········");
        check(0.40625, "████████▏···········");
        check(7.0, "████████████████████");
    }

    #[track_caller]
    fn check_time(span_s: f64, expected: &str) {
        assert_eq!(time(span_s), expected);
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        check_time(20e-6, "20 µs");
        check_time(0.0275, "28 ms");
        check_time(1.44, "1.4 s");
        check_time(119.0, "119 s");
        check_time(600.0, "10 min");
        check_time(9000.0, "2.5 h");
    }
}
