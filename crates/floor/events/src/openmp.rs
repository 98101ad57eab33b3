//! Counters of OpenMP parallel regions; single executions are not kept.

use serde::{Deserialize, Serialize};

/// Executions of one outermost OpenMP parallel region in one process.
///
/// An execution lasts from the moment at which the thread that meets the region asks for it to the moment at which that
/// thread continues alone. Ticks of threads are summed over the threads of the team, that one included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenMpCounters {
    /// Address after an instruction of the region: of its first one, or of the call that starts it.
    pub address: u64,
    /// Number of executions.
    pub n_executions: u64,
    /// Ticks of the executions.
    pub elapsed_ticks: u64,
    /// Ticks of each execution times the threads of its team.
    pub team_ticks: u64,
    /// Ticks in which threads executed the region, without their waiting and their MPI calls.
    pub busy_ticks: u64,
    /// Longest busy ticks of a thread, summed over executions.
    pub busy_max_ticks: u64,
    /// Ticks of threads from the start of the execution until they began their part.
    pub late_ticks: u64,
    /// Ticks of threads in MPI calls.
    pub mpi_ticks: u64,
    /// Ticks in MPI calls of the thread that met the region.
    pub mpi_first_ticks: u64,
    /// Threads of the largest team.
    pub n_threads_max: u64,
    /// Executions with tasks: their waiting counts as busy, since threads that wait execute tasks.
    pub n_with_tasks: u64,
}

impl OpenMpCounters {
    /// Ticks in which threads waited for others of their team.
    pub fn waiting_ticks(&self) -> u64 {
        self.team_ticks
            .saturating_sub(self.busy_ticks)
            .saturating_sub(self.late_ticks)
            .saturating_sub(self.mpi_ticks)
    }
}
