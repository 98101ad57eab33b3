//! Queue of Slurm, as the thread that talks to it sees it.

use super::commands::{self, CommandError, Queued};
use std::time::Duration;

/// Queue of Slurm.
pub(super) trait SlurmQueue: Send + 'static {
    fn submit(&mut self, hosts: &[String]) -> Result<u64, CommandError>;
    fn companions(&mut self) -> Result<Vec<Queued>, CommandError>;
    /// Time until the limit of the program's own job, if it has one.
    fn own_time_left(&mut self) -> Result<Option<Duration>, CommandError>;
    fn cancel(&mut self, jobs: &[u64]) -> Result<(), CommandError>;
}

/// Queue behind Slurm's commands.
#[derive(Debug)]
pub(super) struct RealQueue {
    /// Id of the job to which the companions belong.
    pub(super) job: u64,
    /// Number of ranks per node.
    pub(super) slots_per_node: u32,
}

impl SlurmQueue for RealQueue {
    fn submit(&mut self, hosts: &[String]) -> Result<u64, CommandError> {
        commands::submit(self.job, self.slots_per_node, hosts)
    }

    fn companions(&mut self) -> Result<Vec<Queued>, CommandError> {
        commands::companions(self.job)
    }

    fn own_time_left(&mut self) -> Result<Option<Duration>, CommandError> {
        commands::time_left(self.job)
    }

    fn cancel(&mut self, jobs: &[u64]) -> Result<(), CommandError> {
        commands::cancel(jobs)
    }
}
