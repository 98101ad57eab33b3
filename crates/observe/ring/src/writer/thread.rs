//! Writer of a thread's block: its counters, and its ring of records.
//!
//! # Invariants
//! - The owner writes plain stores; a signal handler that interrupts an append sees `busy` and drops its own record.

mod call;

use super::Block;
use crate::layout::{
    AwaitedWords, Capacity, CollectiveSlot, N_RESERVED_REGIONS, PeerSlot, RegionSlot, ThreadHeader,
    bump, request_place,
};
use crate::mapping::Mapping;
use crate::private;
use events::{AwaitedRequest, CallRecord, CommunicatorKey, SizeHistogram};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// Position of a thread's next record in its ring.
///
/// Shared by all code that appends records on this thread, machine code included: hence the fixed layout.
#[derive(Debug)]
#[repr(C)]
pub struct RingCursor {
    /// First record of the ring.
    pub records: *mut CallRecord,
    /// Capacity minus one; 0 without a ring.
    pub mask: u64,
    /// Records written so far; the next one goes to `written & mask`.
    pub written: u64,
    /// Records acknowledged by the reader when last checked. There is room while `written - acknowledged <= mask`.
    pub acknowledged: u64,
    /// Word in which the reader sees `written`; stored after the record.
    pub published: *const AtomicU64,
    /// Word with the reader's count of acknowledged records.
    pub reader: *const AtomicU64,
    /// Count of records dropped for lack of room.
    pub dropped: *const AtomicU64,
    /// 1 while a record is being appended: a signal handler that interrupts the append drops its own record.
    pub busy: u64,
}

const _: () = assert!(size_of::<RingCursor>() == 64);

/// A thread's block, written by that thread alone.
#[derive(Debug)]
pub struct ThreadWriter {
    header: &'static ThreadHeader,
    regions: &'static [RegionSlot],
    peers: &'static [PeerSlot],
    collectives: &'static [CollectiveSlot],
    cursor: RingCursor,
    /// Open-addressed table of indices in `regions` + 1, in private memory ([`private`]).
    lookup: &'static mut [u32],
    lookup_shift: u32,
    n_regions: u32,
    block: &'static Block,
    idx: u32,
}

// SAFETY: the pointer leads into the segment, which is never unmapped; only the owner writes there.
unsafe impl Send for ThreadWriter {}

impl ThreadWriter {
    pub(super) fn new(
        (mapping, capacity): (&'static Mapping, &Capacity),
        (block, idx): (&'static Block, u32),
        lookup: &'static mut [u32],
    ) -> Self {
        let header: &ThreadHeader = mapping.shared(capacity.block_offset(idx));
        let regions_at = capacity.block_offset(idx) + size_of::<ThreadHeader>();
        let peers_at = regions_at + capacity.n_regions as usize * size_of::<RegionSlot>();
        let records_at = capacity.block_offset(idx) + capacity.statistics_bytes();
        let (n_regions, n_peers) = (capacity.n_regions as usize, capacity.n_peers as usize);
        let has_ring = block.has_ring.load(Ordering::Relaxed);
        let lookup_shift = u64::BITS - lookup.len().trailing_zeros();
        let mut writer = Self {
            header,
            regions: mapping.shared_slice(regions_at, n_regions),
            peers: mapping.shared_slice(peers_at, n_peers),
            collectives: &mapping.header().collectives,
            cursor: RingCursor {
                records: mapping.at(records_at.min(mapping.len - size_of::<CallRecord>())),
                mask: if has_ring { u64::from(capacity.n_records) - 1 } else { 0 },
                written: block.written.load(Ordering::Relaxed),
                // Without a ring, `push` always finds it full.
                acknowledged: header
                    .acknowledged
                    .load(Ordering::Acquire)
                    .wrapping_sub(u64::from(!has_ring)),
                published: &raw const header.written,
                reader: &raw const header.acknowledged,
                dropped: &raw const header.dropped,
                busy: 0,
            },
            lookup,
            lookup_shift,
            n_regions: block.n_regions.load(Ordering::Relaxed),
            block,
            idx,
        };
        writer.index_known_regions();
        writer
    }

    /// Adds the regions of the block's previous owner, which ended, to the lookup table.
    fn index_known_regions(&mut self) {
        for position in 0..self.n_regions {
            let region = &self.regions[position as usize];
            let address = region.address.load(Ordering::Relaxed);
            let previous = region.previous.load(Ordering::Relaxed);
            let mut at = self.lookup_start(address, previous);
            while self.lookup[at] != 0 {
                at = (at + 1) & (self.lookup.len() - 1);
            }
            self.lookup[at] = position + 1;
        }
    }

    /// Index of the block in the segment.
    pub fn idx(&self) -> u32 {
        self.idx
    }

    /// Returns whether records are kept.
    #[inline(always)]
    pub fn has_ring(&self) -> bool {
        self.cursor.mask != 0
    }

    /// Words that tell what the operation being executed waits for.
    #[inline(always)]
    pub fn awaited(&self) -> &'static AwaitedWords {
        &self.header.awaited
    }

    /// Publishes a request that the operation being executed waits for; those beyond the room are only counted.
    #[inline(always)]
    pub fn await_request(&self, position: usize, request: u64) {
        if let Some(place) = self.header.awaited_requests.get(position) {
            place.store(request, Ordering::Relaxed);
        }
    }

    /// Notes what a request of this thread stands for.
    #[inline(always)]
    pub fn note_request(&self, request: u64, made: &AwaitedRequest) {
        let slot = &self.header.requests[request_place(request)];
        slot.operation.store(made.operation.into(), Ordering::Relaxed);
        slot.peer.store(made.peer.cast_unsigned(), Ordering::Relaxed);
        slot.tag.store(made.tag.cast_unsigned(), Ordering::Relaxed);
        slot.communicator.store(made.communicator.id, Ordering::Relaxed);
        slot.ordinal.store(made.communicator.ordinal, Ordering::Relaxed);
        slot.request.store(request, Ordering::Relaxed);
    }

    /// Counts a collective call on a communicator; `slot` is its place among those that are counted.
    #[inline(always)]
    pub fn count_collective(
        &self,
        slot: usize,
        communicator: CommunicatorKey,
        (operation, address): (u16, u64),
    ) {
        let Some(slot) = self.collectives.get(slot) else { return };
        slot.communicator.store(communicator.id, Ordering::Relaxed);
        slot.ordinal.store(communicator.ordinal, Ordering::Relaxed);
        slot.operation.store(operation.into(), Ordering::Relaxed);
        slot.address.store(address, Ordering::Relaxed);
        bump(&slot.n_calls, 1);
    }

    /// Returns the counters of a region.
    #[inline(always)]
    pub fn region(&mut self, address: u64, previous: u64, operation: u16) -> &'static RegionSlot {
        let at = self.lookup_start(address, previous);
        // SAFETY: `lookup_start` shifts down to less than the table's length.
        let position = *unsafe { self.lookup.get_unchecked(at) };
        if position != 0 {
            // SAFETY: the table holds positions in `regions` + 1.
            let region = unsafe { self.regions.get_unchecked(position as usize - 1) };
            if is_region(region, address, previous, operation) {
                return region;
            }
        }
        self.find_region(address, previous, operation)
    }

    #[inline(always)]
    fn lookup_start(&self, address: u64, previous: u64) -> usize {
        let mixed = (address ^ previous.rotate_left(23)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        #[expect(clippy::cast_possible_truncation, reason = "shifted down to the table's length")]
        let start = (mixed >> self.lookup_shift) as usize;
        start
    }

    #[cold]
    #[inline(never)]
    fn find_region(&mut self, address: u64, previous: u64, operation: u16) -> &'static RegionSlot {
        let mut at = self.lookup_start(address, previous);
        loop {
            match self.lookup[at] {
                0 => break,
                position => {
                    let region = &self.regions[position as usize - 1];
                    if is_region(region, address, previous, operation) {
                        return region;
                    }
                }
            }
            at = (at + 1) & (self.lookup.len() - 1);
        }
        self.add_region(at, address, previous, operation)
    }

    fn add_region(
        &mut self,
        at: usize,
        address: u64,
        previous: u64,
        operation: u16,
    ) -> &'static RegionSlot {
        let n_regions_max = self.regions.len();
        let is_total = address == 0 && previous == 0;
        let room =
            n_regions_max.saturating_sub(if is_total { 0 } else { N_RESERVED_REGIONS as usize });
        if room <= self.n_regions as usize {
            if is_total {
                // Cannot happen: the table of operations is shorter than the reserved entries.
                return &self.regions[n_regions_max - 1];
            }
            bump(&self.header.calls_without_region, 1);
            return self.find_region(0, 0, operation);
        }
        let region = &self.regions[self.n_regions as usize];
        region.address.store(address, Ordering::Relaxed);
        region.previous.store(previous, Ordering::Relaxed);
        region.operation.store(u32::from(operation), Ordering::Relaxed);
        self.n_regions += 1;
        self.lookup[at] = self.n_regions;
        self.header.n_regions.store(self.n_regions, Ordering::Release);
        region
    }

    /// Returns the traffic counters of a world rank, if it has its own.
    #[inline(always)]
    pub fn peer(&self, rank: u32) -> Option<&'static PeerSlot> {
        self.peers.get(rank as usize)
    }

    /// Cursor for other code that appends records on this thread; valid as long as this writer stays in place.
    pub fn cursor(&mut self) -> *mut RingCursor {
        &raw mut self.cursor
    }

    /// Appends a record, or counts it as dropped if the ring is full or an append is interrupted.
    #[inline(always)]
    pub fn push(&mut self, record: &CallRecord) {
        if !self.append(record) {
            self.drop_record();
        }
    }

    /// Appends a record; returns false if the ring is full, or if this call interrupts another append.
    #[inline(always)]
    pub fn append(&mut self, record: &CallRecord) -> bool {
        let cursor = &mut self.cursor;
        if cursor.busy != 0
            || cursor.mask < cursor.written.wrapping_sub(cursor.acknowledged) && !self.has_room()
        {
            return false;
        }
        let cursor = &mut self.cursor;
        cursor.busy = 1;
        // A signal handler of this thread that appends records must see `busy` before the record changes.
        compiler_fence(Ordering::SeqCst);
        #[expect(clippy::cast_possible_truncation, reason = "masked to the ring's capacity")]
        let position = (cursor.written & cursor.mask) as usize;
        // SAFETY: `position` is below the ring's capacity, whose memory is reserved; without a ring
        // `has_room` has returned false.
        let slot = unsafe { cursor.records.add(position) };
        // SAFETY: as above; the reader does not read this record before `written` covers it.
        unsafe { slot.write(*record) };
        cursor.written += 1;
        self.header.written.store(cursor.written, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        cursor.busy = 0;
        true
    }

    #[cold]
    #[inline(never)]
    fn has_room(&mut self) -> bool {
        if !self.has_ring() {
            return false;
        }
        let cursor = &mut self.cursor;
        cursor.acknowledged = self.header.acknowledged.load(Ordering::Acquire);
        cursor.written.wrapping_sub(cursor.acknowledged) <= cursor.mask
    }

    /// Counts a record that the caller gave up.
    #[cold]
    #[inline(never)]
    pub fn drop_record(&self) {
        bump(&self.header.dropped, 1);
    }

    /// Returns the block, for another thread to continue.
    pub fn detach(self) {
        self.header.in_operation.store(0, Ordering::Relaxed);
        self.header.owned.store(0, Ordering::Relaxed);
        self.block.n_regions.store(self.n_regions, Ordering::Relaxed);
        self.block.written.store(self.cursor.written, Ordering::Relaxed);
        self.block.is_owned.store(false, Ordering::Release);
    }
}

impl Drop for ThreadWriter {
    fn drop(&mut self) {
        private::give_back(std::mem::take(&mut self.lookup));
    }
}

#[inline(always)]
fn is_region(region: &RegionSlot, address: u64, previous: u64, operation: u16) -> bool {
    region.address.load(Ordering::Relaxed) == address
        && region.previous.load(Ordering::Relaxed) == previous
        && region.operation.load(Ordering::Relaxed) == u32::from(operation)
}

impl AwaitedWords {
    /// Publishes the arguments of a call: communicator, peer or root, tag, and number of elements.
    #[inline(always)]
    pub fn publish(&self, communicator: CommunicatorKey, (peer, tag): (i32, i32), count: i64) {
        self.communicator.store(communicator.id, Ordering::Relaxed);
        self.ordinal.store(communicator.ordinal, Ordering::Relaxed);
        self.peer.store(peer.cast_unsigned(), Ordering::Relaxed);
        self.tag.store(tag.cast_unsigned(), Ordering::Relaxed);
        self.count.store(count.cast_unsigned(), Ordering::Relaxed);
    }

    /// Publishes the receiving half of a send-receive.
    #[inline(always)]
    pub fn publish_source(&self, source: i32, tag: i32) {
        self.source.store(source.cast_unsigned(), Ordering::Relaxed);
        self.source_tag.store(tag.cast_unsigned(), Ordering::Relaxed);
    }
}

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

    /// Counts as time of calls what was counted as computation before.
    #[cold]
    pub fn move_to_mpi(&self, ticks: u64) {
        bump(&self.mpi_ticks, ticks);
        bump(&self.compute_ticks, ticks.wrapping_neg());
    }
}
