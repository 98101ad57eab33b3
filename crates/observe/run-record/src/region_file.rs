//! `regions.parquet`: counters of each rank, thread and pair of call sites.

use crate::table::columns;
use events::OperationId;

/// Time that one thread spent on the computation after one call site and on the MPI call that ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionRow {
    /// Index in [`Summary::worlds`](crate::Summary::worlds).
    pub world: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Thread of the rank; 0 is the thread that initialized MPI.
    pub thread: u32,
    /// [`CallSite::id`](crate::summary::CallSite::id) of the call before; `None` at the start of a thread.
    pub from_call_site: Option<u32>,
    /// [`CallSite::id`](crate::summary::CallSite::id) of the call that ends the region, if known.
    pub call_site: Option<u32>,
    /// Operation called there.
    pub operation: OperationId,
    /// Number of calls.
    pub calls: u64,
    /// Time of computation before the calls, in s.
    pub compute_s: f64,
    /// Time inside the calls, in s.
    pub mpi_s: f64,
    /// Longest single call, in s.
    pub mpi_max_s: f64,
    /// Bytes moved.
    pub bytes: u64,
}

columns! {
    RegionRow = "region";
    growing: [];
    world: u32, rank: u32, thread: u32, from_call_site: Option<u32>, call_site: Option<u32>, operation: OperationId,
    calls: u64, compute_s: f64, mpi_s: f64, mpi_max_s: f64, bytes: u64,
}
