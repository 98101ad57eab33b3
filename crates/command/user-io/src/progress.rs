//! Line on a terminal that is replaced as work goes on; nothing in a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Line on standard error.
#[derive(Debug)]
pub struct ProgressLine {
    /// True if the line is shown at all.
    pub is_terminal: bool,
    every: Duration,
    last: Option<Instant>,
}

impl ProgressLine {
    /// Makes a line that is replaced at most that often.
    #[must_use]
    pub fn every(every: Duration) -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), every, last: None }
    }

    /// Shows the line if it is time to.
    pub fn show(&mut self, line: impl FnOnce() -> String) {
        if self.is_terminal && self.last.is_none_or(|last| self.every <= last.elapsed()) {
            eprint!("\r\x1b[K{}", line());
            self.last = Some(Instant::now());
        }
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if self.last.take().is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
