//! Who this process is in its world: asked of MPI, or of the environment where MPI must not be asked.

use crate::library::Facts;
use crate::{launcher, pmpi};

/// This process in its world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    /// Rank in the world.
    pub(crate) rank: u32,
    /// Ranks in the world.
    pub(crate) size: u32,
    /// It was spawned by other MPI processes.
    pub(crate) is_spawned: bool,
}

impl Identity {
    /// After `MPI_Init`, in the thread that called it.
    pub(crate) fn from_mpi() -> Option<Self> {
        let facts = Facts::detect()?;
        let rank = u32::try_from(pmpi::comm_rank(facts.world)?).ok()?;
        let size = u32::try_from(pmpi::comm_size(facts.world)?).ok()?;
        Some(Self { rank, size, is_spawned: facts.is_spawned() })
    }

    /// In a program of sessions.
    pub(crate) fn of_session() -> Option<Self> {
        let is_spawned = Facts::detect()?.is_spawned();
        Some(Self { is_spawned, ..Self::from_environment()? })
    }

    /// In any thread, at any time.
    pub(crate) fn from_environment() -> Option<Self> {
        let number = |names: [&str; 4]| {
            names.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok())
        };
        let is_set = |name: &str| std::env::var(name).is_ok_and(|value| value == "1");
        Some(Self {
            rank: number(["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"])?,
            size: number(["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "SLURM_NTASKS"])?,
            is_spawned: is_set("PMI_SPAWNED"),
        })
    }

    /// Number of its world, `launch` telling one launcher from the next.
    pub(crate) fn world(&self, launch: &str) -> u64 {
        launcher::world(self.size, self.is_spawned, launch)
    }
}
