//! Counters of MPI calls, by region and by peer; single calls are not kept.

use crate::SizeHistogram;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Counters of one *region*: the computation after the call at `previous` and the MPI call at
/// `address` that ends it.
///
/// Summing over `previous` gives the call site; summing over `address` as well gives the operation.
/// Regions that found no room in the table are counted under `address` 0 and `previous` 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct RegionCounters {
    /// Return address of the MPI call that ends the region.
    pub address: u64,
    /// Return address of the MPI call before it; 0 at the start of a thread.
    pub previous: u64,
    /// Index of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Padding, so that the layout has no holes.
    #[serde(skip)]
    pub reserved: [u16; 3],
    /// Number of calls.
    pub n_calls: u64,
    /// Ticks inside the MPI calls.
    pub mpi_ticks: u64,
    /// Ticks of computation before the MPI calls.
    pub compute_ticks: u64,
    /// Longest single MPI call in ticks.
    pub mpi_ticks_max: u64,
    /// Bytes moved, as `mpi-abi` defines them for the operation.
    pub bytes: u64,
    /// Calls by message size.
    pub sizes: SizeHistogram,
    /// Padding to four cache lines.
    #[serde(skip)]
    pub spare: [u32; 5],
}

const _: () = assert!(size_of::<RegionCounters>() == 256);

/// Point-to-point and one-sided traffic with one other rank, seen from this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct Peer {
    /// Messages sent (or put) to the rank.
    pub n_sent: u64,
    /// Bytes sent to the rank.
    pub bytes_sent: u64,
    /// Messages received (or got) from the rank.
    pub n_received: u64,
    /// Bytes received from the rank.
    pub bytes_received: u64,
}

/// MPI call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InCall {
    /// Index of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Return address: the call site.
    pub address: u64,
}
