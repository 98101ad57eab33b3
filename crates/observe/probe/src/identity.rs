//! Rank and size of this process in its world: from MPI, or from the environment where MPI must not be called.

use crate::library::MpiLibrary;
use crate::pmpi;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Place of this process in its world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    /// Rank in the world.
    pub(crate) rank: u32,
    /// Number of ranks in the world.
    pub(crate) size: u32,
    /// Whether the process was spawned by other MPI processes.
    pub(crate) is_spawned: bool,
}

impl Identity {
    /// Asks MPI. Call it after `MPI_Init`, in the thread that called `MPI_Init`.
    pub(crate) fn from_mpi() -> Option<Self> {
        let library = MpiLibrary::detect()?;
        let rank = u32::try_from(pmpi::comm_rank(library.world)?).ok()?;
        let size = u32::try_from(pmpi::comm_size(library.world)?).ok()?;
        Some(Self { rank, size, is_spawned: library.is_spawned() })
    }

    /// Reads the environment, in a program that uses sessions.
    pub(crate) fn of_session() -> Option<Self> {
        let is_spawned = MpiLibrary::detect()?.is_spawned();
        Some(Self { is_spawned, ..Self::from_environment()? })
    }

    /// Reads the environment. May be called in any thread, at any time.
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

    /// Returns the number of this process's world: a hash of the launcher's number (`launch`) and of what distinguishes
    /// spawned worlds.
    pub(crate) fn world(&self, launch: &str) -> u64 {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (launch, self.size, self.is_spawned).hash(&mut hasher);
        let namespace = variable("PMIX_NAMESPACE");
        if namespace.is_empty() {
            (variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID")).hash(&mut hasher);
            if self.is_spawned {
                // MPICH starts a proxy per spawn and node; nothing else distinguishes one spawn from another.
                std::os::unix::process::parent_id().hash(&mut hasher);
            }
        } else {
            namespace.hash(&mut hasher);
        }
        hasher.finish()
    }
}
