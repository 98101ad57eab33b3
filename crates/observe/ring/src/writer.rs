//! Writer of a segment, inside the monitored process.
//!
//! # Invariants
//! - Nothing on which memory safety depends is read back from the segment: the program's own wild writes may have
//!   changed it.

mod thread;

use crate::SegmentError;
use crate::control::{AnswerWriter, OrderReader};
use crate::layout::{
    COMMUNICATORS_BYTES, COMMUNICATORS_OFFSET, CONTROL_BYTES, CONTROL_OFFSET, Capacity, FixedText,
    HEADER_BYTES, LAYOUT_VERSION, LifeState, MAGIC, MODULES_BYTES, MODULES_OFFSET,
    N_OPENMP_REGIONS, OPENMP_BYTES, OPENMP_OFFSET, OpenMpSlot, SegmentHeader, ThreadHeader,
};
use crate::mapping::{Mapping, size_limit_bytes};
use crate::private;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub use thread::{RingCursor, ThreadWriter};

/// Segment written by the process that it describes.
#[derive(Debug)]
pub struct SegmentWriter {
    mapping: &'static Mapping,
    capacity: Capacity,
    /// Numbers of the communicators defined.
    defined_communicators: Mutex<HashSet<u32>>,
    /// Never freed: a thread may return its block at any time.
    blocks: &'static [Block],
    /// Blocks allocated so far. Locked while a thread takes a block, without any allocation, since the thread
    /// may be anywhere in the program.
    n_blocks: Mutex<u32>,
}

/// Writer's own state of a thread block. The segment holds the same for readers, but is never read back, since
/// the program may have overwritten it.
#[derive(Debug, Default)]
struct Block {
    /// Whether a living thread owns the block.
    is_owned: AtomicBool,
    has_ring: AtomicBool,
    /// Regions in use; valid while the block has no owner.
    n_regions: AtomicU32,
    /// Records written; valid while the block has no owner.
    written: AtomicU64,
}

impl SegmentWriter {
    /// Creates the segment `path` and reserves its header and texts. The segment holds less than
    /// `capacity` where the limits of the process require it.
    ///
    /// # Errors
    /// When the file cannot be created, shared memory is full, or the limits of the process are too low.
    pub fn create(
        path: &Path,
        capacity: Capacity,
        started_ticks: u64,
    ) -> Result<Self, SegmentError> {
        let capacity = capacity
            .shrunk_to(size_limit_bytes())
            .ok_or_else(|| SegmentError::Limited(path.into()))?;
        let mapping = Mapping::create(path, capacity.segment_bytes())?;
        if let Err(source) = mapping.reserve(0, CONTROL_OFFSET) {
            let _gone = std::fs::remove_file(path);
            return Err(mapping.cannot_reserve(source));
        }
        mapping.keep_from_children();
        let mapping: &'static Mapping = Box::leak(Box::new(mapping));
        let header = mapping.header();
        header.capacity.store(capacity);
        header.version.store(LAYOUT_VERSION, Ordering::Relaxed);
        header.pid.store(std::process::id(), Ordering::Relaxed);
        header.started_ticks.store(started_ticks, Ordering::Relaxed);
        header.reserved_bytes.store(CONTROL_OFFSET as u64, Ordering::Relaxed);
        let blocks: Box<[Block]> = (0..capacity.n_threads).map(|_| Block::default()).collect();
        let blocks = Box::leak(blocks);
        let (defined_communicators, n_blocks) = (Mutex::default(), Mutex::default());
        Ok(Self { mapping, capacity, defined_communicators, blocks, n_blocks })
    }

    /// The segment's file.
    pub fn path(&self) -> &Path {
        &self.mapping.path
    }

    /// Header, for fields that take a single store.
    pub fn header(&self) -> &'static SegmentHeader {
        self.mapping.header()
    }

    /// Makes the segment visible to collectors.
    pub fn publish(&self) {
        self.header().state.store(LifeState::Running as u32, Ordering::Release);
        self.header().magic.store(MAGIC, Ordering::Release);
    }

    /// Marks that monitoring ended before the program, and removes the segment's memory from the process.
    /// Threads in the middle of a call still write, to private memory: nothing is unmapped.
    pub fn detach(&self) {
        self.header().state.store(LifeState::Detached as u32, Ordering::Release);
        // If the system refuses, the memory stays until the process ends.
        let _stays = self.mapping.replace_by_private();
    }

    /// Writes a text into a header field, truncated to its room.
    pub fn write_text<const N: usize>(&self, text: &'static FixedText<N>, value: &[u8]) {
        let len = value.len().min(N);
        let offset = text.bytes.as_ptr() as usize - std::ptr::from_ref(self.header()) as usize;
        debug_assert!(offset < HEADER_BYTES, "texts lie in the header");
        self.mapping.put_bytes(offset, &value[..len]);
        #[expect(clippy::cast_possible_truncation, reason = "N is small")]
        text.len.store(len as u32, Ordering::Release);
    }

    /// Writes the executable mappings, one line of `/proc/self/maps` each, truncated to their room.
    pub fn write_modules(&self, text: &[u8]) {
        let len = text.len().min(MODULES_BYTES);
        self.mapping.put_bytes(MODULES_OFFSET, &text[..len]);
        #[expect(clippy::cast_possible_truncation, reason = "MODULES_BYTES is small")]
        self.header().modules_len.store(len as u32, Ordering::Release);
    }

    /// Appends the definition of a communicator: its number, its size, its world ranks (`u32::MAX` for
    /// ranks of another world). Each number is defined once; without room, the definition is refused and counted.
    pub fn define_communicator(&self, id: u32, world_ranks: &[u32]) {
        let Ok(mut defined_communicators) = self.defined_communicators.lock() else { return };
        if !defined_communicators.insert(id) {
            return;
        }
        let used = self.header().communicators_len.load(Ordering::Relaxed) as usize;
        let needed = 4 * (2 + world_ranks.len());
        if COMMUNICATORS_BYTES < used + needed {
            self.header().communicators_refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut bytes = Vec::with_capacity(needed);
        #[expect(clippy::cast_possible_truncation, reason = "bounded by COMMUNICATORS_BYTES")]
        let n_ranks = world_ranks.len() as u32;
        for word in [id, n_ranks].iter().chain(world_ranks) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        self.mapping.put_bytes(COMMUNICATORS_OFFSET + used, &bytes);
        #[expect(clippy::cast_possible_truncation, reason = "bounded by COMMUNICATORS_BYTES")]
        self.header().communicators_len.store((used + needed) as u32, Ordering::Release);
    }

    /// Reserves the mailboxes and announces that the process listens to orders. Call it once.
    ///
    /// # Errors
    /// When shared memory is full.
    pub fn open_control(&self) -> Result<(OrderReader, AnswerWriter), SegmentError> {
        let reserved = self.mapping.reserve(CONTROL_OFFSET, CONTROL_BYTES);
        reserved.map_err(|source| self.mapping.cannot_reserve(source))?;
        self.header().reserved_bytes.fetch_add(CONTROL_BYTES as u64, Ordering::Relaxed);
        self.header().has_control.store(1, Ordering::Release);
        Ok((OrderReader::new(self.mapping), AnswerWriter::new(self.mapping)))
    }

    /// Reserves the counters of OpenMP regions; `None` when shared memory is full. Call it once.
    pub fn open_openmp(&self) -> Option<&'static [OpenMpSlot]> {
        self.mapping.reserve(OPENMP_OFFSET, OPENMP_BYTES).ok()?;
        self.header().reserved_bytes.fetch_add(OPENMP_BYTES as u64, Ordering::Relaxed);
        self.header().has_openmp.store(1, Ordering::Release);
        Some(self.mapping.shared_slice(OPENMP_OFFSET, N_OPENMP_REGIONS))
    }

    /// Announces that the process does not listen to orders, with the system error number that is the reason.
    pub fn refuse_control(&self, errno: i32) {
        self.header().control_refused.store(errno.unsigned_abs(), Ordering::Relaxed);
        self.header().has_control.store(0, Ordering::Release);
    }

    /// Returns a block for the calling thread: one of an ended thread, or a new one.
    ///
    /// Counts the thread as refused when all blocks are taken or memory is full. Does not allocate with
    /// the program's allocator.
    pub fn attach_thread(&self, tid: u32) -> Option<ThreadWriter> {
        let mut n_blocks = self.n_blocks.lock().ok()?;
        let lookup_len = (2 * self.capacity.n_regions.max(8) as usize).next_power_of_two();
        let block = self.free_block(*n_blocks).or_else(|| self.new_block(&mut n_blocks, tid));
        let attached = block.and_then(|block| Some((block, private::words(lookup_len)?)));
        let Some(((block, idx), lookup)) = attached else {
            self.header().threads_refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let header: &ThreadHeader = self.mapping.shared(self.capacity.block_offset(idx));
        header.tid.store(tid, Ordering::Relaxed);
        header.owned.store(1, Ordering::Release);
        block.is_owned.store(true, Ordering::Relaxed);
        Some(ThreadWriter::new((self.mapping, &self.capacity), (block, idx), lookup))
    }

    fn free_block(&self, n_blocks: u32) -> Option<(&'static Block, u32)> {
        let mut blocks = self.blocks.iter().zip(0..n_blocks);
        blocks.find(|(block, _)| !block.is_owned.load(Ordering::Acquire))
    }

    fn new_block(&self, n_blocks: &mut u32, tid: u32) -> Option<(&'static Block, u32)> {
        let idx = *n_blocks;
        let block = self.blocks.get(idx as usize)?;
        let offset = self.capacity.block_offset(idx);
        self.mapping.reserve(offset, self.capacity.statistics_bytes()).ok()?;
        let header: &ThreadHeader = self.mapping.shared(offset);
        let ring_offset = offset + self.capacity.statistics_bytes();
        let ring_bytes = self.capacity.ring_bytes();
        let has_ring = ring_bytes != 0 && self.mapping.reserve(ring_offset, ring_bytes).is_ok();
        header.has_ring.store(u32::from(has_ring), Ordering::Relaxed);
        block.has_ring.store(has_ring, Ordering::Relaxed);
        let reserved = self.capacity.statistics_bytes() + if has_ring { ring_bytes } else { 0 };
        self.header().reserved_bytes.fetch_add(reserved as u64, Ordering::Relaxed);
        // Before readers see the block: readers treat a block with neither thread id nor data as never used.
        header.tid.store(tid, Ordering::Relaxed);
        *n_blocks = idx + 1;
        self.header().n_threads.store(*n_blocks, Ordering::Release);
        Some((block, idx))
    }
}
