//! Progress of an experiment: one line that is replaced on a terminal, or a line now and then in a pipe.

use std::time::{Duration, Instant};
use user_io::progress::ProgressLine;

/// Time between lines in a pipe.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// Shows the progress on standard error.
pub(super) struct Progress {
    line: ProgressLine,
    last_line: Option<Instant>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { line: ProgressLine::every(Duration::ZERO), last_line: None }
    }

    /// Shows that a run begins.
    pub(super) fn show(&mut self, number: usize, n: usize, point: &str, left_s: Option<f64>) {
        let left = left_s.map_or_else(
            || "time left unknown".to_owned(),
            |s| format!("{} left", display::units::seconds(s)),
        );
        let line = format!("run {number} of {n} ({point}), {left}");
        if self.line.is_terminal {
            self.line.show(|| line);
        } else if self.last_line.is_none_or(|at| LINES_EVERY < at.elapsed()) {
            eprintln!("sintonia: {line}");
            self.last_line = Some(Instant::now());
        }
    }

    /// Prints a sentence that stays.
    pub(super) fn warn(&mut self, text: &str) {
        self.clear();
        user_io::print::warn(text);
    }

    /// Removes the line from the terminal.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}
