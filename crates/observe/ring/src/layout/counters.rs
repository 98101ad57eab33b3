//! Counters in a segment: of regions, of peers, and of what the process uses.

use events::SampledTime;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// [`events::RegionCounters`] in shared memory.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RegionSlot {
    /// See [`events::RegionCounters::address`].
    pub address: AtomicU64,
    /// See [`events::RegionCounters::previous`].
    pub previous: AtomicU64,
    /// Calls.
    pub n_calls: AtomicU64,
    /// Ticks inside MPI.
    pub mpi_ticks: AtomicU64,
    /// Ticks of computation before the MPI calls.
    pub compute_ticks: AtomicU64,
    /// Longest call in ticks.
    pub mpi_ticks_max: AtomicU64,
    /// Bytes moved.
    pub bytes: AtomicU64,
    /// Calls by size.
    pub sizes: [AtomicU32; events::size_histogram::N_BINS],
    /// See [`events::RegionCounters::operation`]; the upper bits are zero.
    pub operation: AtomicU32,
    /// Sampled parts of the computation.
    pub compute: SampledWords,
    /// Sampled parts of the MPI calls.
    pub mpi: SampledWords,
}

const _: () = assert!(size_of::<RegionSlot>() == 256, "four cache lines");

/// [`events::SampledTime`] in shared memory.
#[derive(Debug)]
#[repr(C)]
pub struct SampledWords {
    /// Time between the samples.
    pub elapsed: AtomicU32,
    /// Processor time.
    pub cpu: AtomicU32,
    /// Time of waiting for a core.
    pub runqueue: AtomicU32,
}

/// [`events::Peer`] in shared memory.
#[derive(Debug)]
#[repr(C)]
pub struct PeerSlot {
    /// Messages sent.
    pub n_sent: AtomicU64,
    /// Bytes sent.
    pub bytes_sent: AtomicU64,
    /// Messages received.
    pub n_received: AtomicU64,
    /// Bytes received.
    pub bytes_received: AtomicU64,
    /// Tag of the last message sent.
    pub last_tag: AtomicU32,
    /// Padding.
    pub pad: AtomicU32,
}

const _: () = assert!(size_of::<PeerSlot>() == size_of::<events::Peer>());

/// An [`events::Usage`] in shared memory.
#[derive(Debug)]
#[repr(C)]
pub struct UsageWords([AtomicU64; events::usage::N_WORDS]);

impl UsageWords {
    /// Stores the usage.
    pub fn store(&self, usage: events::Usage) {
        for (word, value) in self.0.iter().zip(usage.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Loads the current values.
    pub fn load(&self) -> events::Usage {
        events::Usage::from_words(self.0.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }
}

impl SampledWords {
    /// Adds a sampled time.
    pub fn add(&self, time: SampledTime) {
        let add = |word: &AtomicU32, by: u32| {
            word.store(word.load(Ordering::Relaxed).saturating_add(by), Ordering::Relaxed);
        };
        add(&self.elapsed, time.elapsed);
        add(&self.cpu, time.cpu);
        add(&self.runqueue, time.runqueue);
    }
}

impl PeerSlot {
    /// Counts a message sent to this peer.
    #[inline(always)]
    pub fn sent(&self, bytes: u64, tag: i32) {
        self.last_tag.store(tag.cast_unsigned(), Ordering::Relaxed);
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
