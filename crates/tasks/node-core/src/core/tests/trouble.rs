//! Failures of the world of the tests.

use task_api::FailureRules;

/// Failures of the world.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    pub(super) n_lost_of_1000: u64,
    pub(super) n_late_of_1000: u64,
    pub(super) n_doubled_of_1000: u64,
    /// Attempts that end with code 1.
    pub(super) n_fails_of_1000: u64,
    pub(super) n_cuts: usize,
    /// Daemons that are killed, while their keepers go on.
    pub(super) n_kills: usize,
    /// Machines that go down: daemon, keeper, tasks, and everything that was not on disk are lost.
    pub(super) n_crashes: usize,
    pub(super) n_keeper_deaths: usize,
    pub(super) n_cancels: usize,
    /// Journals that are damaged while the daemon is down.
    pub(super) n_holes: usize,
}

impl Trouble {
    /// Rules that let each task succeed in the end.
    pub(super) fn failures(self) -> FailureRules {
        let n_retries_max = if 0 < self.n_fails_of_1000 { 1000 } else { 0 };
        FailureRules { n_retries_max, retry_delay_ms: 300, n_fails_max: None }
    }
}
