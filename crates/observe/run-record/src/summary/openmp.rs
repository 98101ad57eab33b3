//! Totals of an OpenMP parallel region.

use super::SourceLocation;
use serde::{Deserialize, Serialize};

/// Outermost OpenMP parallel region, with totals over all ranks. Regions inside it belong to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenMpRegion {
    /// Location in the program.
    pub place: SourceLocation,
    /// Number of executions.
    pub executions: u64,
    /// Threads of the largest team.
    pub threads: u64,
    /// Time of the thread that meets the region, in s.
    pub time_s: f64,
    /// Time of each execution times the threads of its team, in s: the sum of the four times that follow.
    pub team_s: f64,
    /// Time in which threads compute, in s.
    pub busy_s: f64,
    /// Time in which threads wait for others of their team, in s; 0 in regions with tasks, where threads that wait execute tasks.
    pub waiting_s: f64,
    /// Time of threads from the start of the region until they begin their part, in s.
    pub starting_s: f64,
    /// Time of threads in MPI calls, in s.
    pub mpi_s: f64,
    /// Average over longest computing time of a thread; `None` in regions with tasks.
    pub load_balance: Option<f64>,
    /// [`OpenMpRegion::time_s`] by rank, in the order of [`super::Summary::ranks`].
    pub time_by_rank_s: Vec<f64>,
}
