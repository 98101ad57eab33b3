//! Compares the iterations after a change with those before.

use super::Options;
use super::iterations::Iterations;
use events::tuning::Effect;
use statistics::median;

/// Comparison under way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// Median seconds per unit of work before the first change; `None` if nothing had been measured.
    before_s: Option<f64>,
    /// Time at which the last change took effect.
    changed_s: f64,
    /// Relative slowdown above which the change is undone.
    limit: f64,
}

/// Progress of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Progress {
    /// More iterations are needed.
    Open,
    /// A comparison is impossible, with the reason.
    Unmeasurable(&'static str),
    /// The trial is over.
    Judged {
        /// Times before and after the change.
        effect: Effect,
        is_good: bool,
    },
}

impl Trial {
    /// Creates a trial of changes that took effect between `first_s` and `last_s`.
    pub(super) fn new(
        iterations: &Iterations,
        options: &Options,
        (first_s, last_s): (f64, f64),
        limit: f64,
    ) -> Self {
        let before_s = median(iterations.before(first_s, options.n_window));
        Self { before_s, changed_s: last_s, limit }
    }

    /// Returns the progress of the trial with these iterations.
    pub(super) fn look(&self, iterations: &Iterations, options: &Options) -> Progress {
        if !iterations.are_defined() {
            return Progress::Unmeasurable("the description has no `[iteration]`");
        }
        let Some(before_s) = self.before_s.filter(|before_s| 0.0 < *before_s) else {
            return Progress::Unmeasurable("no iteration had ended before it");
        };
        let n_window = options.n_window.max(1);
        let after = iterations.after(self.changed_s, options.n_settle, n_window);
        match median(after.clone()) {
            Some(after_s) if n_window <= after.len() => {
                let change = after_s / before_s - 1.0;
                Progress::Judged {
                    effect: Effect { before_s, after_s, change },
                    is_good: change <= self.limit,
                }
            }
            _ => Progress::Open,
        }
    }
}

/// Describes a change in words: `iterations became 12.3 % faster`.
pub(super) fn in_words(change: f64) -> String {
    let percent = (100.0 * change).abs();
    let direction = if change < 0.0 { "faster" } else { "slower" };
    format!("iterations became {percent:.1} % {direction}")
}
