//! Capacity of a segment: numbers of threads, regions, peers and records.

use super::{BLOCKS_OFFSET, PAGE, PeerSlot, RegionSlot, ThreadHeader};
use std::sync::atomic::{AtomicU32, Ordering};

/// Capacity of a segment; chosen by the launcher, fixed when the segment is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Threads that may call MPI at the same time.
    pub n_threads: u32,
    /// Regions per thread, [`super::N_RESERVED_REGIONS`] included.
    pub n_regions: u32,
    /// World ranks counted as separate peers.
    pub n_peers: u32,
    /// Records in a thread's ring: 0 or a power of two.
    pub n_records: u32,
}

impl Capacity {
    /// Bytes of a thread block before its ring.
    pub fn statistics_bytes(&self) -> usize {
        let bytes = size_of::<ThreadHeader>()
            + self.n_regions as usize * size_of::<RegionSlot>()
            + self.n_peers as usize * size_of::<PeerSlot>();
        bytes.next_multiple_of(PAGE)
    }

    /// Bytes of a thread's ring.
    pub fn ring_bytes(&self) -> usize {
        (self.n_records as usize * size_of::<events::CallRecord>()).next_multiple_of(PAGE)
    }

    /// Bytes from one thread block to the next.
    pub fn block_bytes(&self) -> usize {
        self.statistics_bytes() + self.ring_bytes()
    }

    /// Offset of thread block `idx`.
    pub fn block_offset(&self, idx: u32) -> usize {
        BLOCKS_OFFSET + idx as usize * self.block_bytes()
    }

    /// Length of the whole segment in bytes, most of it never touched.
    pub fn segment_bytes(&self) -> usize {
        self.block_offset(self.n_threads)
    }

    /// Reduces the capacity until the segment fits into `size_limit_bytes`: fewer threads first, then shorter rings.
    pub fn shrunk_to(mut self, size_limit_bytes: u64) -> Option<Self> {
        while size_limit_bytes < self.segment_bytes() as u64 {
            if 1 < self.n_threads {
                self.n_threads /= 2;
            } else if 64 < self.n_records {
                self.n_records /= 2;
            } else {
                return None;
            }
        }
        Some(self)
    }

    /// Returns whether the numbers, read from another process, are possible.
    pub fn is_plausible(&self) -> bool {
        let bounded = self.n_threads <= 4096
            && self.n_regions <= 1 << 22
            && self.n_peers <= 1 << 22
            && self.n_records <= 1 << 28;
        bounded && (self.n_records == 0 || self.n_records.is_power_of_two())
    }
}

/// A [`Capacity`] in shared memory.
#[derive(Debug)]
#[repr(C)]
pub struct CapacityWords {
    n_threads: AtomicU32,
    n_regions: AtomicU32,
    n_peers: AtomicU32,
    n_records: AtomicU32,
}

impl CapacityWords {
    /// Stores the capacity, before the segment is published.
    pub fn store(&self, capacity: Capacity) {
        self.n_threads.store(capacity.n_threads, Ordering::Relaxed);
        self.n_regions.store(capacity.n_regions, Ordering::Relaxed);
        self.n_peers.store(capacity.n_peers, Ordering::Relaxed);
        self.n_records.store(capacity.n_records, Ordering::Relaxed);
    }

    /// Loads the current values.
    pub fn load(&self) -> Capacity {
        Capacity {
            n_threads: self.n_threads.load(Ordering::Relaxed),
            n_regions: self.n_regions.load(Ordering::Relaxed),
            n_peers: self.n_peers.load(Ordering::Relaxed),
            n_records: self.n_records.load(Ordering::Relaxed),
        }
    }
}
