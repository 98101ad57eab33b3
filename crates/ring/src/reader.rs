//! The reading side, in the collector: snapshots of statistics, and records in order.

use crate::SegmentError;
use crate::control::{AnswerReader, OrderWriter};
use crate::layout::{
    COMMUNICATORS_OFFSET, Capacity, Header, LAYOUT_VERSION, LifeState, MODULES_OFFSET, PeerSlot,
    RegionSlot, Text, ThreadHeader,
};
use crate::mapping::Mapping;
use events::{CallRecord, Clock, Peer, ProcessKey, RegionCounters, SizeHistogram};
use std::path::Path;
use std::sync::atomic::Ordering;

/// A segment read by a collector, while its process writes or after it ended.
#[derive(Debug)]
pub struct SegmentReader {
    mapping: Mapping,
    capacity: Capacity,
}

/// What a segment says of its process.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessView {
    /// Which process.
    pub key: ProcessKey,
    /// Number of its world.
    pub world: u64,
    /// Rank in its world.
    pub rank: u32,
    /// Ranks in its world.
    pub size: u32,
    /// It was spawned by other MPI processes.
    pub spawned: bool,
    /// It reached `MPI_Finalize`.
    pub finalizing: bool,
    /// The watch ended before the program.
    pub is_left: bool,
    /// Ticks to time; its two points are the same until `MPI_Finalize`.
    pub clock: Clock,
    /// Ticks at the end of `MPI_Init`.
    pub init_end_ticks: u64,
    /// Ticks at the start of `MPI_Finalize`, 0 before.
    pub finalize_begin_ticks: u64,
    /// Cost of observing one call, in nanoseconds.
    pub cost_ns_per_call: f64,
    /// Threads that found no room.
    pub threads_refused: u32,
    /// Block of the thread that called `MPI_Init`.
    pub main_thread: u32,
    /// Blocks in use.
    pub n_threads: u32,
    /// Shared memory reserved.
    pub reserved_bytes: u64,
    /// Version text of the MPI library.
    pub library: String,
    /// Path of the program.
    pub program: String,
    /// Name of the node.
    pub node: String,
}

/// The call in which a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InCall {
    /// Place of the operation in the table of `mpi-abi`.
    pub operation: u16,
    /// Return address.
    pub address: u64,
}

impl SegmentReader {
    /// Opens the segment `path`.
    ///
    /// # Errors
    /// When it cannot be opened, is not (yet) a segment, or has another version.
    pub fn open(path: &Path) -> Result<Self, SegmentError> {
        let mapping = Mapping::open(path)?;
        if !mapping.is_marked() {
            return Err(SegmentError::NotASegment { path: path.into() });
        }
        let found = mapping.header().version.load(Ordering::Relaxed);
        if found != LAYOUT_VERSION {
            return Err(SegmentError::OtherVersion {
                path: path.into(),
                found,
                expected: LAYOUT_VERSION,
            });
        }
        let capacity = mapping.header().capacity;
        if !capacity.is_plausible() || mapping.len() < capacity.segment_bytes() {
            return Err(SegmentError::NotASegment { path: path.into() });
        }
        Ok(Self { mapping, capacity })
    }

    fn header(&self) -> &Header {
        self.mapping.header()
    }

    /// How much the segment holds.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// What it says of its process now.
    pub fn process(&self) -> ProcessView {
        let header = self.header();
        let relaxed = Ordering::Relaxed;
        let state = header.state.load(Ordering::Acquire);
        let finalizing = LifeState::Finalizing as u32 <= state;
        ProcessView {
            key: ProcessKey {
                pid: header.pid.load(relaxed),
                started: header.started_ticks.load(relaxed),
            },
            world: header.world.load(relaxed),
            rank: header.rank.load(relaxed),
            size: header.size.load(relaxed),
            spawned: header.spawned.load(relaxed) == 1,
            finalizing,
            is_left: state == LifeState::Left as u32,
            clock: Clock {
                first_ticks: header.first_ticks.load(relaxed),
                first_ns: header.first_ns.load(relaxed),
                last_ticks: header.last_ticks.load(relaxed),
                last_ns: header.last_ns.load(relaxed),
            },
            init_end_ticks: header.init_end_ticks.load(relaxed),
            finalize_begin_ticks: header.finalize_begin_ticks.load(relaxed),
            cost_ns_per_call: header.cost_ps_per_call.load(relaxed) as f64 * 1e-3,
            threads_refused: header.threads_refused.load(relaxed),
            main_thread: header.main_thread.load(relaxed),
            n_threads: self.n_threads(),
            reserved_bytes: header.reserved_bytes.load(relaxed),
            library: text(&header.library),
            program: text(&header.program),
            node: text(&header.node),
        }
    }

    /// Whether the process reached `MPI_Finalize`, or the watch of it ended.
    pub fn is_finalizing(&self) -> bool {
        LifeState::Finalizing as u32 <= self.header().state.load(Ordering::Acquire)
    }

    /// Whether the watch ended before the process.
    pub fn is_left(&self) -> bool {
        self.header().state.load(Ordering::Acquire) == LifeState::Left as u32
    }

    fn n_threads(&self) -> u32 {
        self.header().n_threads.load(Ordering::Acquire).min(self.capacity.n_threads)
    }

    /// Executable mappings of the process, lines of `/proc/PID/maps`.
    pub fn modules(&self) -> String {
        let len = self.header().modules_len.load(Ordering::Acquire) as usize;
        String::from_utf8_lossy(&self.mapping.copy_bytes(MODULES_OFFSET, len)).into_owned()
    }

    /// Communicators defined so far: number, and the world ranks in it.
    pub fn communicators(&self) -> Vec<(u32, Vec<u32>)> {
        let len = self.header().communicators_len.load(Ordering::Acquire) as usize;
        let bytes = self.mapping.copy_bytes(COMMUNICATORS_OFFSET, len);
        let (words, _rest) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let mut communicators = Vec::new();
        while let (Some(id), Some(n_ranks)) = (words.next(), words.next()) {
            communicators.push((id, words.by_ref().take(n_ranks as usize).collect()));
        }
        communicators
    }

    /// Says that everything up to `MPI_Finalize` has been taken; the rank may wait for it for a moment.
    pub fn set_final_taken(&self) {
        self.header().final_taken.store(1, Ordering::Release);
        // SAFETY: the word lives in our mapping; waking nobody is fine.
        let _woken = unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.header().final_taken.as_ptr(),
                libc::FUTEX_WAKE,
                i32::MAX,
            )
        };
    }

    /// Where orders for the process go; none when it does not listen.
    ///
    /// One at a time: the collector is the only writer.
    pub fn orders(&self) -> Option<OrderWriter<'_>> {
        self.has_control().then(|| OrderWriter::new(&self.mapping))
    }

    /// Where its answers are; none when it does not listen.
    pub fn answers(&self) -> Option<AnswerReader<'_>> {
        self.has_control().then(|| AnswerReader::new(&self.mapping))
    }

    /// Why it does not listen though it was asked to: an error number of the system.
    pub fn control_refused(&self) -> Option<i32> {
        let errno = self.header().control_refused.load(Ordering::Relaxed);
        i32::try_from(errno).ok().filter(|errno| *errno != 0)
    }

    fn has_control(&self) -> bool {
        self.header().has_control.load(Ordering::Acquire) == 1
    }

    /// The thread blocks in use.
    pub fn threads(&self) -> impl Iterator<Item = ThreadView<'_>> {
        (0..self.n_threads()).map(|idx| ThreadView { segment: self, idx })
    }
}

/// One thread's block.
#[derive(Clone, Copy, Debug)]
pub struct ThreadView<'a> {
    segment: &'a SegmentReader,
    idx: u32,
}

impl ThreadView<'_> {
    /// Position of the block in the segment.
    pub fn idx(&self) -> u32 {
        self.idx
    }

    fn header(&self) -> &ThreadHeader {
        let offset = self.segment.capacity.block_offset(self.idx);
        // SAFETY: inside the segment (its length was checked on opening), page-aligned, of atomics.
        unsafe { &*self.segment.mapping.at::<ThreadHeader>(offset) }
    }

    /// Kernel's id of the thread that writes here (or wrote last).
    pub fn tid(&self) -> u32 {
        self.header().tid.load(Ordering::Relaxed)
    }

    /// The call in which the thread is, if it is in MPI.
    pub fn in_call(&self) -> Option<InCall> {
        let operation = self.header().in_operation.load(Ordering::Relaxed).checked_sub(1)?;
        let address = self.header().in_address.load(Ordering::Relaxed);
        Some(InCall { operation: u16::try_from(operation).ok()?, address })
    }

    /// Ticks when the thread last entered or left MPI.
    pub fn since_ticks(&self) -> u64 {
        self.header().since_ticks.load(Ordering::Relaxed)
    }

    /// Calls counted by operation only.
    pub fn calls_without_region(&self) -> u64 {
        self.header().calls_without_region.load(Ordering::Relaxed)
    }

    /// Records that found the ring full.
    pub fn n_dropped(&self) -> u64 {
        self.header().dropped.load(Ordering::Relaxed)
    }

    /// Records written since the start.
    pub fn n_written(&self) -> u64 {
        self.header().written.load(Ordering::Acquire)
    }

    /// Records acknowledged since the start.
    pub fn n_acknowledged(&self) -> u64 {
        self.header().acknowledged.load(Ordering::Relaxed)
    }

    /// Counters of all regions seen so far.
    pub fn regions(&self) -> Vec<RegionCounters> {
        let capacity = &self.segment.capacity;
        let n_regions = self.header().n_regions.load(Ordering::Acquire).min(capacity.n_regions);
        let start = capacity.block_offset(self.idx) + size_of::<ThreadHeader>();
        (0..n_regions as usize)
            .map(|position| {
                let offset = start + position * size_of::<RegionSlot>();
                // SAFETY: inside the block, as `statistics_bytes` says; made of atomics.
                region_counters(unsafe { &*self.segment.mapping.at::<RegionSlot>(offset) })
            })
            .collect()
    }

    /// Traffic with the peers that exchanged something: world rank and counts.
    pub fn peers(&self) -> Vec<(u32, Peer)> {
        let capacity = &self.segment.capacity;
        let start = capacity.block_offset(self.idx)
            + size_of::<ThreadHeader>()
            + capacity.n_regions as usize * size_of::<RegionSlot>();
        (0..capacity.n_peers)
            .map(|rank| {
                let offset = start + rank as usize * size_of::<PeerSlot>();
                // SAFETY: inside the block, as `statistics_bytes` says; made of atomics.
                (rank, peer_counts(unsafe { &*self.segment.mapping.at::<PeerSlot>(offset) }))
            })
            .filter(|(_, peer)| *peer != Peer::default())
            .collect()
    }

    /// Records from number `from` on, at most `n_max`; fewer when the writer has not written more.
    ///
    /// `from` lies between [`ThreadView::n_acknowledged`] and [`ThreadView::n_written`].
    pub fn records(&self, from: u64, n_max: usize) -> Vec<CallRecord> {
        let capacity = &self.segment.capacity;
        if self.header().has_ring.load(Ordering::Relaxed) != 1 || capacity.n_records == 0 {
            return Vec::new();
        }
        let available =
            usize::try_from(self.n_written().saturating_sub(from)).unwrap_or(usize::MAX);
        let mut records = vec![CallRecord::default(); available.min(n_max)];
        let start = capacity.block_offset(self.idx) + capacity.statistics_bytes();
        let mask = u64::from(capacity.n_records) - 1;
        for (number, record) in (from..).zip(&mut records) {
            #[expect(clippy::cast_possible_truncation, reason = "masked to the ring's capacity")]
            let offset = start + (number & mask) as usize * size_of::<CallRecord>();
            // SAFETY: inside the ring; the writer does not touch records that are written and not yet
            // acknowledged.
            *record = unsafe { self.segment.mapping.at::<CallRecord>(offset).read() };
        }
        records
    }

    /// Says that all records before number `up_to` are safe elsewhere.
    pub fn acknowledge(&self, up_to: u64) {
        self.header().acknowledged.store(up_to, Ordering::Release);
    }
}

fn text<const N: usize>(text: &Text<N>) -> String {
    let len = (text.len.load(Ordering::Acquire) as usize).min(N);
    String::from_utf8_lossy(&text.bytes[..len]).into_owned()
}

fn region_counters(slot: &RegionSlot) -> RegionCounters {
    let relaxed = Ordering::Relaxed;
    #[expect(clippy::cast_possible_truncation, reason = "written from a u16")]
    let operation = slot.operation.load(relaxed) as u16;
    RegionCounters {
        address: slot.address.load(relaxed),
        previous: slot.previous.load(relaxed),
        operation,
        n_calls: slot.n_calls.load(relaxed),
        mpi_ticks: slot.mpi_ticks.load(relaxed),
        compute_ticks: slot.compute_ticks.load(relaxed),
        mpi_ticks_max: slot.mpi_ticks_max.load(relaxed),
        bytes: slot.bytes.load(relaxed),
        sizes: SizeHistogram::from_counts(std::array::from_fn(|bin| slot.sizes[bin].load(relaxed))),
        ..RegionCounters::default()
    }
}

fn peer_counts(slot: &PeerSlot) -> Peer {
    Peer {
        n_sent: slot.n_sent.load(Ordering::Relaxed),
        bytes_sent: slot.bytes_sent.load(Ordering::Relaxed),
        n_received: slot.n_received.load(Ordering::Relaxed),
        bytes_received: slot.bytes_received.load(Ordering::Relaxed),
    }
}
