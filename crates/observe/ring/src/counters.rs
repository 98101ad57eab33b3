//! Updates of a region's and a peer's counters by one call.
//!
//! # Invariants
//! - Only one thread writes a counter: a load and a store are enough, and no instruction is locked.

use crate::layout::{PeerSlot, RegionSlot};
use events::SizeHistogram;
use std::sync::atomic::{AtomicU64, Ordering};

impl RegionSlot {
    /// Counts one call.
    #[inline(always)]
    pub fn count(&self, mpi_ticks: u64, compute_ticks: u64, bytes: u64) {
        bump(&self.n_calls, 1);
        bump(&self.mpi_ticks, mpi_ticks);
        bump(&self.compute_ticks, compute_ticks);
        bump(&self.bytes, bytes);
        if self.mpi_ticks_max.load(Ordering::Relaxed) < mpi_ticks {
            self.mpi_ticks_max.store(mpi_ticks, Ordering::Relaxed);
        }
        let bin = &self.sizes[SizeHistogram::bin_of(bytes)];
        bin.store(bin.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

impl PeerSlot {
    /// Counts a message sent to this peer.
    #[inline(always)]
    pub fn sent(&self, bytes: u64) {
        bump(&self.n_sent, 1);
        bump(&self.bytes_sent, bytes);
    }

    /// Counts a message received from this peer.
    #[inline(always)]
    pub fn received(&self, bytes: u64) {
        bump(&self.n_received, 1);
        bump(&self.bytes_received, bytes);
    }
}

/// Adds to a counter that only the calling thread writes: a load and a store, no locked instruction.
#[inline(always)]
pub(crate) fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
