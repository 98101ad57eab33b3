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
        let left = left_s
            .map_or_else(|| "time left unknown".to_owned(), |s| format!("{} left", duration(s)));
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

/// Time in words: `45 s`, `12 min`, `3.5 h`.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_said_as_people_say_them() {
        let said = [4.26, 45.0, 725.0, 12_600.0].map(duration);
        assert_eq!(said, ["4.3 s", "45 s", "12 min", "3.5 h"]);
    }
}
