//! Progress of a simulation: one line on a terminal, removed at the end; nothing in a pipe.

use ::balancing_policies::Policy;
use simulator::balance::Progress;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two updates of the line.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

pub(super) struct ProgressLine {
    is_terminal: bool,
    n_policies: usize,
    n_done: usize,
    last: Option<Instant>,
}

impl ProgressLine {
    pub(super) fn new(n_policies: usize) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { is_terminal, n_policies, n_done: 0, last: None }
    }

    pub(super) fn show(&mut self, policy: &Policy, progress: Progress) {
        let is_due = self.last.is_none_or(|last| SHOWN_EVERY < last.elapsed());
        if self.is_terminal && is_due {
            eprint!("\r\x1b[K{}", self.line(policy, progress));
            self.last = Some(Instant::now());
        }
    }

    /// Counts a policy as done and removes the line.
    pub(super) fn next(&mut self) {
        self.n_done += 1;
        if self.last.take().is_some() {
            eprint!("\r\x1b[K");
        }
    }

    fn line(&self, policy: &Policy, progress: Progress) -> String {
        let Progress { n_ended, n_tasks, now_s, n_events } = progress;
        let which = match self.n_policies {
            1 => String::new(),
            n => format!("{} of {n}, ", self.n_done + 1),
        };
        format!("{which}{policy}: {n_ended} of {n_tasks} tasks, {now_s:.0} s, {n_events} events")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_policy_and_how_far() {
        let progress = Progress { n_ended: 3, n_tasks: 9, now_s: 12.4, n_events: 65_536 };
        let progress_line = ProgressLine::new(2);
        let line = progress_line.line(&Policy::DEFAULT, progress);
        assert_eq!(line, "1 of 2, subscription: 3 of 9 tasks, 12 s, 65536 events");
    }
}
