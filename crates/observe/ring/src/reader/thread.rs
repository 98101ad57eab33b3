//! Reader of one thread's block.

use super::SegmentReader;
use crate::layout::{
    LEFT, N_AWAITED_REQUESTS, PAGE, PeerSlot, RecordWords, RegionSlot, RequestSlot, SampledWords,
    ThreadHeader, request_place,
};
use events::{
    Awaited, AwaitedRequest, CallRecord, CommunicatorKey, InCall, Peer, RegionCounters,
    SampledTime, SizeHistogram,
};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Reader's own, checked state of a thread block.
#[derive(Debug, Default)]
pub(super) struct BlockState {
    has_ring: AtomicBool,
    /// Records acknowledged: the writer is never more than one ring ahead of this number.
    acknowledged: AtomicU64,
    /// Last plausible number of records written.
    written: AtomicU64,
}

impl SegmentReader {
    /// Number of thread blocks in use: never decreases, and every counted block was used.
    pub(super) fn n_threads(&self) -> u32 {
        let n_said = self.header().n_threads.load(Ordering::Acquire);
        let mut n_known = self.n_threads.load(Ordering::Relaxed);
        while n_known < n_said {
            if self.capacity.n_threads <= n_known || !self.meet_thread(n_known) {
                self.note_damage();
                break;
            }
            n_known += 1;
            self.n_threads.store(n_known, Ordering::Relaxed);
        }
        if n_said < n_known {
            self.note_damage();
        }
        n_known
    }

    /// Examines a block for the first time; returns false if no thread ever used it.
    fn meet_thread(&self, idx: u32) -> bool {
        let capacity = &self.capacity;
        let offset = capacity.block_offset(idx);
        if !self.mapping.is_readable(offset, PAGE) {
            return false;
        }
        let header = self.mapping.shared::<ThreadHeader>(offset);
        let is_used = header.tid.load(Ordering::Acquire) != 0
            || header.n_regions.load(Ordering::Relaxed) != 0
            || header.written.load(Ordering::Relaxed) != 0;
        if !is_used || !self.mapping.is_readable(offset, capacity.statistics_bytes()) {
            return false;
        }
        let ring = (offset + capacity.statistics_bytes(), capacity.ring_bytes());
        let has_ring = capacity.n_records != 0
            && header.has_ring.load(Ordering::Relaxed) == 1
            && self.mapping.is_readable(ring.0, ring.1);
        if has_ring {
            let written = header.written.load(Ordering::Acquire);
            let acknowledged = header.acknowledged.load(Ordering::Relaxed);
            let n_records = u64::from(capacity.n_records);
            let is_so = acknowledged <= written && written - acknowledged <= n_records;
            let acknowledged = if is_so { acknowledged } else { written.saturating_sub(n_records) };
            if !is_so {
                self.note_damage();
            }
            let block = &self.threads[idx as usize];
            block.has_ring.store(true, Ordering::Relaxed);
            block.written.store(written, Ordering::Relaxed);
            block.acknowledged.store(acknowledged, Ordering::Relaxed);
        }
        true
    }
}

/// One thread's block.
#[derive(Clone, Copy, Debug)]
pub struct ThreadView<'a> {
    segment: &'a SegmentReader,
    idx: u32,
}

impl<'a> ThreadView<'a> {
    pub(super) fn new(segment: &'a SegmentReader, idx: u32) -> Self {
        Self { segment, idx }
    }

    fn block(&self) -> &BlockState {
        &self.segment.threads[self.idx as usize]
    }

    /// Position of the block in the segment.
    pub fn idx(&self) -> u32 {
        self.idx
    }

    fn header(&self) -> &ThreadHeader {
        self.segment.mapping.shared(self.segment.capacity.block_offset(self.idx))
    }

    /// Kernel thread id of the (last) writer.
    pub fn tid(&self) -> u32 {
        self.header().tid.load(Ordering::Relaxed)
    }

    /// MPI call that the thread is in, if any.
    pub fn in_call(&self) -> Option<InCall> {
        let operation = self.header().in_operation.load(Ordering::Relaxed);
        if operation & LEFT == 0 { self.call_number(operation) } else { None }
    }

    /// MPI call that the thread has returned from last, while it is outside MPI.
    pub fn last_call(&self) -> Option<InCall> {
        let operation = self.header().in_operation.load(Ordering::Relaxed);
        if operation & LEFT == 0 { None } else { self.call_number(operation & !LEFT) }
    }

    fn call_number(&self, number: u32) -> Option<InCall> {
        let operation = u16::try_from(number.checked_sub(1)?).ok()?;
        Some(InCall { operation, address: self.header().in_address.load(Ordering::Relaxed) })
    }

    /// What the call in progress waits for; meaningful while the thread is in a blocking call.
    pub fn awaited(&self) -> Awaited {
        let words = &self.header().awaited;
        let number = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let n_requests = number(&words.n_requests);
        let n_published = (n_requests as usize).min(N_AWAITED_REQUESTS);
        let published = self.header().awaited_requests[..n_published].iter();
        Awaited {
            communicator: CommunicatorKey {
                id: number(&words.communicator),
                ordinal: number(&words.ordinal),
            },
            peer: number(&words.peer).cast_signed(),
            tag: number(&words.tag).cast_signed(),
            source: number(&words.source).cast_signed(),
            source_tag: number(&words.source_tag).cast_signed(),
            count: words.count.load(Ordering::Relaxed).cast_signed(),
            n_requests,
            requests: published.filter_map(|request| self.request(request)).collect(),
        }
    }

    /// Returns what the thread noted when it made a request.
    fn request(&self, handle: &AtomicU64) -> Option<AwaitedRequest> {
        let handle = handle.load(Ordering::Relaxed);
        let slot: &RequestSlot = &self.header().requests[request_place(handle)];
        let number = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let is_noted = handle != 0 && slot.request.load(Ordering::Relaxed) == handle;
        is_noted.then(|| AwaitedRequest {
            operation: u16::try_from(number(&slot.operation)).unwrap_or(u16::MAX),
            peer: number(&slot.peer).cast_signed(),
            tag: number(&slot.tag).cast_signed(),
            communicator: CommunicatorKey {
                id: number(&slot.communicator),
                ordinal: number(&slot.ordinal),
            },
        })
    }

    /// Ticks when the thread last entered or left MPI.
    pub fn since_ticks(&self) -> u64 {
        self.header().since_ticks.load(Ordering::Relaxed)
    }

    /// Calls counted by operation only, because the region table was full.
    pub fn calls_without_region(&self) -> u64 {
        self.count(&self.header().calls_without_region)
    }

    /// Records dropped because the ring was full.
    pub fn n_dropped(&self) -> u64 {
        self.count(&self.header().dropped)
    }

    /// Records written since the start: never more than one ring ahead of the last acknowledged record.
    pub fn n_written(&self) -> u64 {
        let block = self.block();
        let last = block.written.load(Ordering::Relaxed);
        if !block.has_ring.load(Ordering::Relaxed) {
            return last;
        }
        let written = self.header().written.load(Ordering::Acquire);
        let n_waiting = written.checked_sub(block.acknowledged.load(Ordering::Relaxed));
        if n_waiting.is_none_or(|n| u64::from(self.segment.capacity.n_records) < n) {
            self.segment.note_damage();
            return last;
        }
        block.written.store(written, Ordering::Relaxed);
        written
    }

    /// Records acknowledged since the start, by this reader and those before it.
    pub fn n_acknowledged(&self) -> u64 {
        self.block().acknowledged.load(Ordering::Relaxed)
    }

    /// Counters of all regions seen so far.
    pub fn regions(&self) -> Vec<RegionCounters> {
        let capacity = &self.segment.capacity;
        let n_regions = self.header().n_regions.load(Ordering::Acquire).min(capacity.n_regions);
        let start = capacity.block_offset(self.idx) + size_of::<ThreadHeader>();
        let slots = self.segment.mapping.shared_slice(start, n_regions as usize);
        let is_used = |region: &RegionCounters| {
            (region.n_calls, region.address, region.previous) != (0, 0, 0)
        };
        slots.iter().map(|slot| self.region(slot)).filter(is_used).collect()
    }

    /// Traffic by world rank; ranks without traffic are omitted.
    pub fn peers(&self) -> Vec<(u32, Peer)> {
        let capacity = &self.segment.capacity;
        let start = capacity.block_offset(self.idx)
            + size_of::<ThreadHeader>()
            + capacity.n_regions as usize * size_of::<RegionSlot>();
        let slots = self.segment.mapping.shared_slice(start, capacity.n_peers as usize);
        let peers = (0..).zip(slots.iter().map(|slot| self.peer(slot)));
        peers.filter(|(_, peer)| *peer != Peer::default()).collect()
    }

    fn region(&self, slot: &RegionSlot) -> RegionCounters {
        let relaxed = Ordering::Relaxed;
        RegionCounters {
            address: slot.address.load(relaxed),
            previous: slot.previous.load(relaxed),
            // An invalid number becomes one without a name.
            operation: u16::try_from(slot.operation.load(relaxed)).unwrap_or(u16::MAX),
            n_calls: self.count(&slot.n_calls),
            mpi_ticks: ticks(&slot.mpi_ticks),
            compute_ticks: ticks(&slot.compute_ticks),
            mpi_ticks_max: ticks(&slot.mpi_ticks_max),
            bytes: self.count(&slot.bytes),
            sizes: SizeHistogram::from_counts(std::array::from_fn(|bin| {
                slot.sizes[bin].load(relaxed)
            })),
            compute: sampled(&slot.compute),
            mpi: sampled(&slot.mpi),
        }
    }

    fn peer(&self, slot: &PeerSlot) -> Peer {
        Peer {
            n_sent: self.count(&slot.n_sent),
            bytes_sent: self.count(&slot.bytes_sent),
            n_received: self.count(&slot.n_received),
            bytes_received: self.count(&slot.bytes_received),
            last_tag: slot.last_tag.load(Ordering::Relaxed).cast_signed(),
            reserved: 0,
        }
    }

    /// Reads a count; an impossible value counts as 0.
    fn count(&self, word: &AtomicU64) -> u64 {
        let count = word.load(Ordering::Relaxed);
        if count < COUNT_END {
            return count;
        }
        self.segment.note_damage();
        0
    }

    /// Returns up to `n_max` records from number `from` on; fewer when the writer has not written more.
    ///
    /// `from` must lie between [`ThreadView::n_acknowledged`] and [`ThreadView::n_written`].
    pub fn records(&self, from: u64, n_max: usize) -> Vec<CallRecord> {
        let capacity = &self.segment.capacity;
        if !self.block().has_ring.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let available =
            usize::try_from(self.n_written().saturating_sub(from)).unwrap_or(usize::MAX);
        let n_records = available.min(n_max).min(capacity.n_records as usize);
        let start = capacity.block_offset(self.idx) + capacity.statistics_bytes();
        let ring =
            self.segment.mapping.shared_slice::<RecordWords>(start, capacity.n_records as usize);
        let mask = u64::from(capacity.n_records) - 1;
        let record = |number: u64| {
            #[expect(clippy::cast_possible_truncation, reason = "masked to the ring's capacity")]
            let words = &ring[(number & mask) as usize];
            bytemuck::cast(words.each_ref().map(|word| word.load(Ordering::Relaxed)))
        };
        (from..).take(n_records).map(record).collect()
    }

    /// Tells the writer that all records before number `up_to` are stored safely elsewhere.
    pub fn acknowledge(&self, up_to: u64) {
        self.block().acknowledged.store(up_to, Ordering::Relaxed);
        self.header().acknowledged.store(up_to, Ordering::Release);
    }
}

fn sampled(words: &SampledWords) -> SampledTime {
    SampledTime {
        elapsed: words.elapsed.load(Ordering::Relaxed),
        cpu: words.cpu.load(Ordering::Relaxed),
        runqueue: words.runqueue.load(Ordering::Relaxed),
    }
}

/// Bound of a plausible count of calls, bytes or ticks (ticks: months).
const COUNT_END: u64 = 1 << 56;

/// Reads ticks; an impossible value counts as 0, and is no damage: the processor's counter may have gone back.
fn ticks(word: &AtomicU64) -> u64 {
    let ticks = word.load(Ordering::Relaxed);
    if ticks < COUNT_END { ticks } else { 0 }
}
