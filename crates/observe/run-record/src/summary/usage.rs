//! Use of processors, memory and files, as the kernel counts it.

use events::usage::SMALL_PAGE_BYTES;
use serde::{Deserialize, Serialize};

/// What a rank used from the end of `MPI_Init` to the start of `MPI_Finalize`; its fields stand beside those of
/// [`RankTotals`](super::RankTotals), and are absent where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankUsage {
    /// Processor time of all its threads, in s.
    pub cpu_s: f64,
    /// Part of it inside the kernel, in s.
    #[serde(default)]
    pub system_s: f64,
    /// Time in s in which a thread could run and no core was free, over all threads.
    #[serde(default)]
    pub runqueue_s: f64,
    /// Part of the computing of the thread that called `MPI_Init` in which it waited for a core, in s.
    #[serde(default)]
    pub compute_runqueue_s: f64,
    /// Part of its time in MPI in which it waited for a core, in s.
    #[serde(default)]
    pub mpi_runqueue_s: f64,
    /// Time in s in which that thread neither ran nor wanted to: it slept, or waited for files, locks or messages.
    #[serde(default)]
    pub blocked_s: f64,
    /// Part of the blocked time outside MPI, in s.
    #[serde(default)]
    pub compute_blocked_s: f64,
    /// Page faults.
    #[serde(default)]
    pub page_faults: u64,
    /// Context switches.
    #[serde(default)]
    pub context_switches: u64,
    /// Largest resident memory, in bytes.
    #[serde(default)]
    pub memory_max_bytes: u64,
    /// Use of files.
    #[serde(default)]
    pub files: FileTotals,
    /// Threads that ran, or wanted to, for a good part of the time.
    #[serde(default)]
    pub n_busy_threads: u64,
    /// Cores that it may use: those of its affinity mask, or what the quota of its control group amounts to.
    #[serde(default)]
    pub cores_allowed: f64,
    /// Its affinity mask, as a list such as `0-3,8`.
    #[serde(default)]
    pub cores: String,
    /// Cores of its node that are online.
    #[serde(default)]
    pub n_online: u32,
    /// Time in s for which its control group was stopped because its quota was used up, over all cores.
    #[serde(default)]
    pub throttled_s: f64,
}

impl RankUsage {
    /// Page faults in memory that had been given back before: those beyond one for each page of the largest resident memory.
    #[must_use]
    pub const fn repeated_faults(&self) -> u64 {
        self.page_faults.saturating_sub(self.memory_max_bytes / SMALL_PAGE_BYTES as u64)
    }
}

/// System calls of a rank that read and write files, or what is read and written like them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileTotals {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Number of system calls.
    pub calls: u64,
}

/// Cores of a node, and who needs them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeUsage {
    /// Name of the node.
    pub node: String,
    /// Number of its ranks.
    pub n_ranks: usize,
    /// Cores that its ranks may use, all together.
    pub n_cores: f64,
    /// Ranks for each of these cores.
    pub ranks_per_core: f64,
    /// Busy threads of the ranks for each of these cores.
    pub threads_per_core: f64,
    /// Cores that other processes used, on average.
    pub foreign_cores: f64,
}
