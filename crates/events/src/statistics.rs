//! What is counted about MPI calls without keeping each of them.

use crate::SizeHistogram;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Counters of one *region*: the computation after the call at `previous` and the MPI call at
/// `address` that ends it.
///
/// Summing over `previous` gives the call site; summing over `address` as well gives the operation.
/// The address 0 with `previous` 0 collects what found no room in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct RegionCounters {
    /// Return address of the MPI call that ends the region.
    pub address: u64,
    /// Return address of the MPI call before it; 0 at the start of a thread.
    pub previous: u64,
    /// Place of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Keeps the layout free of holes.
    #[serde(skip)]
    pub reserved: [u16; 3],
    /// Calls.
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
    /// Keeps the entry at four cache lines.
    #[serde(skip)]
    pub spare: [u32; 5],
}

const _: () = assert!(size_of::<RegionCounters>() == 256);

/// Point-to-point and one-sided traffic with one other rank, seen from this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub struct Peer {
    /// Messages sent (or put) to it.
    pub n_sent: u64,
    /// Bytes sent to it.
    pub bytes_sent: u64,
    /// Messages received (or got) from it.
    pub n_received: u64,
    /// Bytes received from it.
    pub bytes_received: u64,
}
