//! Layout of a segment: header, texts, thread blocks.
//!
//! ```text
//! 0                 Header                       one page
//! HEADER_BYTES      modules text                 MODULES_BYTES
//! ...               communicator definitions     COMMUNICATORS_BYTES
//! ...               control                      CONTROL_BYTES: ControlHeader, orders, answers
//! ...               counters of OpenMP regions   OPENMP_BYTES
//! ...               thread block 0, 1, ...       Capacity::block_bytes each
//!
//! thread block:     ThreadHeader | RegionSlot x n_regions | PeerSlot x n_peers | CallRecord x n_records
//! ```
//! Every field is an atomic ([`Shared`]), constant ones included: the memory is shared with another process,
//! which may write anything anywhere. By the rules, each field has one writer.

mod capacity;
mod counters;

pub use capacity::{Capacity, CapacityWords};
pub(crate) use counters::bump;
pub use counters::{PeerSlot, RegionSlot, SampledWords, UsageWords};

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Types that may be referenced in memory to which other processes write.
///
/// # Safety
/// The type consists of atomics, and every bit pattern is a valid value.
pub unsafe trait Shared {}

// SAFETY: an atomic.
unsafe impl Shared for AtomicU8 {}
// SAFETY: an atomic.
unsafe impl Shared for AtomicU64 {}
// SAFETY: as its elements.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}
// SAFETY: made of atomics.
unsafe impl Shared for SegmentHeader {}
// SAFETY: made of atomics.
unsafe impl Shared for ControlHeader {}
// SAFETY: made of atomics.
unsafe impl Shared for ThreadHeader {}
// SAFETY: made of atomics.
unsafe impl Shared for RegionSlot {}
// SAFETY: made of atomics.
unsafe impl Shared for SampledWords {}
// SAFETY: made of atomics.
unsafe impl Shared for PeerSlot {}
// SAFETY: made of atomics.
unsafe impl Shared for AwaitedWords {}
// SAFETY: made of atomics.
unsafe impl Shared for RequestSlot {}
// SAFETY: made of atomics.
unsafe impl Shared for CollectiveSlot {}
// SAFETY: made of atomics.
unsafe impl Shared for OpenMpSlot {}

/// An [`events::CallRecord`] in shared memory.
pub type RecordWords = [AtomicU64; size_of::<events::CallRecord>() / size_of::<u64>()];

/// First word of a segment.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINTONIA");
/// Version of this layout; a probe and a collector with different versions refuse each other.
pub const LAYOUT_VERSION: u32 = 4;
/// Size of the header.
pub const HEADER_BYTES: usize = 8192;
/// Room for the text of the executable mappings (`/proc/self/maps`).
pub const MODULES_BYTES: usize = 128 * 1024;
/// Room for communicator definitions.
pub const COMMUNICATORS_BYTES: usize = 128 * 1024;
/// Room for orders that the process has not taken yet.
pub const ORDERS_BYTES: usize = 256 * 1024;
/// Room for answers that the collector has not taken yet.
pub const ANSWERS_BYTES: usize = 128 * 1024;
/// Room for orders and answers with their counters; reserved only in processes that listen to orders.
pub const CONTROL_BYTES: usize = PAGE + ORDERS_BYTES + ANSWERS_BYTES;
/// Number of OpenMP regions counted separately.
pub const N_OPENMP_REGIONS: usize = 256;
/// Room for the counters of OpenMP regions; reserved only in processes with an OpenMP library.
pub const OPENMP_BYTES: usize = N_OPENMP_REGIONS * size_of::<OpenMpSlot>();
/// Entries of the region table reserved for totals by operation, used once the table is full.
pub const N_RESERVED_REGIONS: u32 = 768;

pub(crate) const PAGE: usize = 4096;
/// Offset of the modules text.
pub const MODULES_OFFSET: usize = HEADER_BYTES;
/// Offset of the communicator definitions.
pub const COMMUNICATORS_OFFSET: usize = MODULES_OFFSET + MODULES_BYTES;
/// Offset of the [`ControlHeader`].
pub const CONTROL_OFFSET: usize = COMMUNICATORS_OFFSET + COMMUNICATORS_BYTES;
/// Offset of the orders.
pub const ORDERS_OFFSET: usize = CONTROL_OFFSET + PAGE;
/// Offset of the answers.
pub const ANSWERS_OFFSET: usize = ORDERS_OFFSET + ORDERS_BYTES;
/// Offset of the first [`OpenMpSlot`].
pub const OPENMP_OFFSET: usize = CONTROL_OFFSET + CONTROL_BYTES;
/// Offset of the first thread block.
pub const BLOCKS_OFFSET: usize = OPENMP_OFFSET + OPENMP_BYTES;

/// Phase in the life of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LifeState {
    /// The segment is being created.
    Starting = 0,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Running = 1,
    /// In `MPI_Finalize`: the final numbers are written and may be taken.
    Finalizing = 2,
    /// Monitoring ended before the program: the final numbers are written, nothing follows.
    Detached = 3,
}

impl LifeState {
    /// Returns the state with this number; an invalid number was overwritten by the program, which
    /// is therefore running.
    pub fn from_number(number: u32) -> Self {
        let states = [Self::Starting, Self::Running, Self::Finalizing, Self::Detached];
        states.into_iter().find(|state| *state as u32 == number).unwrap_or(Self::Running)
    }
}

/// Text with fixed room, written once before the state becomes [`LifeState::Running`].
#[derive(Debug)]
#[repr(C)]
pub struct FixedText<const N: usize> {
    /// Length in bytes.
    pub len: AtomicU32,
    /// The bytes, UTF-8 where the system's text is.
    pub bytes: [AtomicU8; N],
}

/// Start of a segment.
#[derive(Debug)]
#[repr(C)]
pub struct SegmentHeader {
    /// [`MAGIC`], written last when the segment is made.
    pub magic: AtomicU64,
    /// [`LAYOUT_VERSION`].
    pub version: AtomicU32,
    /// Process id.
    pub pid: AtomicU32,
    /// Ticks when the segment was created.
    pub started_ticks: AtomicU64,
    /// Capacity of the segment.
    pub capacity: CapacityWords,
    /// [`LifeState`] as a number.
    pub state: AtomicU32,
    /// Rank in the process's world.
    pub rank: AtomicU32,
    /// Number of ranks in the world.
    pub size: AtomicU32,
    /// 1 if the process was spawned; the parent's world shares nothing else with this one.
    pub spawned: AtomicU32,
    /// Number of the world.
    pub world: AtomicU64,
    /// Ticks of the first clock point, read early at the same moment as `first_ns`.
    pub first_ticks: AtomicU64,
    /// Nanoseconds since 1970 of the first clock point.
    pub first_ns: AtomicU64,
    /// Ticks of the second clock point, read at the start of `MPI_Finalize`; 0 before.
    pub last_ticks: AtomicU64,
    /// Nanoseconds since 1970 of the second clock point.
    pub last_ns: AtomicU64,
    /// Ticks when `MPI_Init` returned.
    pub init_end_ticks: AtomicU64,
    /// Ticks when `MPI_Finalize` was called; 0 before.
    pub finalize_begin_ticks: AtomicU64,
    /// Cost of monitoring one call in this process, in picoseconds.
    pub cost_ps_per_call: AtomicU64,
    /// Thread blocks allocated so far.
    pub n_threads: AtomicU32,
    /// Threads refused for lack of room.
    pub threads_refused: AtomicU32,
    /// Block of the thread that called `MPI_Init`.
    pub main_thread: AtomicU32,
    /// Set by the collector once it has taken everything after `Finalizing`.
    pub final_taken: AtomicU32,
    /// Bytes used of the modules text.
    pub modules_len: AtomicU32,
    /// Bytes used of the communicator definitions.
    pub communicators_len: AtomicU32,
    /// Communicators not defined for lack of room.
    pub communicators_refused: AtomicU32,
    /// Bytes reserved so far in the whole segment.
    pub reserved_bytes: AtomicU64,
    /// 1 if the control area is reserved and the process listens to orders.
    pub has_control: AtomicU32,
    /// System error number that keeps the process from listening to orders as requested; 0 for none.
    pub control_refused: AtomicU32,
    /// What the process had used when `MPI_Init` returned.
    pub usage_start: UsageWords,
    /// What it had used when `MPI_Finalize` was called; 0 before.
    pub usage_end: UsageWords,
    /// 1 if the counters of OpenMP regions are reserved.
    pub has_openmp: AtomicU32,
    /// Executions of OpenMP regions not counted for lack of room.
    pub openmp_uncounted: AtomicU32,
    /// Version text of the MPI library.
    pub library: FixedText<508>,
    /// Path of the program.
    pub program: FixedText<2044>,
    /// Name of the node.
    pub node: FixedText<252>,
    /// Collective calls by communicator; the first is `MPI_COMM_WORLD`. Communicators beyond have no entry.
    pub collectives: [CollectiveSlot; N_COLLECTIVE_SLOTS],
}

const _: () = assert!(size_of::<SegmentHeader>() <= HEADER_BYTES);

/// Start of the control area.
#[derive(Debug)]
#[repr(C)]
pub struct ControlHeader {
    /// Bell of the orders: a futex word that counts rings.
    pub orders_bell: AtomicU32,
    /// Answers dropped for lack of room.
    pub answers_dropped: AtomicU32,
    /// Mailbox from the collector.
    pub orders: MailboxHeader,
    /// Mailbox to the collector.
    pub answers: MailboxHeader,
}

const _: () = assert!(size_of::<ControlHeader>() <= PAGE);

/// Positions of the two sides of a mailbox.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct MailboxHeader {
    /// Bytes written since the start; stored by the writer after the bytes. The writer relies on its own copy.
    pub written: AtomicU64,
    /// Padding: the reader's words have a cache line of their own.
    pub pad: [AtomicU64; 7],
    /// Bytes taken since the start; stored by the reader, which relies on its own copy.
    pub taken: AtomicU64,
    /// Times that the reader found invalid data and skipped it.
    pub broken: AtomicU32,
}

/// Start of a thread block.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct ThreadHeader {
    /// 1 while a living thread owns the block.
    pub owned: AtomicU32,
    /// Regions in use.
    pub n_regions: AtomicU32,
    /// Number of the operation being executed + 1; 0 before the first one, with the bit [`LEFT`] outside MPI.
    pub in_operation: AtomicU32,
    /// Kernel thread id of the (last) owner.
    pub tid: AtomicU32,
    /// Return address of the operation being executed, or of the last one.
    pub in_address: AtomicU64,
    /// Ticks when the thread last entered or left MPI.
    pub since_ticks: AtomicU64,
    /// Calls counted by operation only, because the region table was full.
    pub calls_without_region: AtomicU64,
    /// Records written to the ring since the start.
    pub written: AtomicU64,
    /// Records dropped because the ring was full.
    pub dropped: AtomicU64,
    /// 1 when the ring's memory could be reserved.
    pub has_ring: AtomicU32,
    /// Padding to a cache line.
    pub pad: AtomicU32,
    /// What the operation being executed waits for, if it is a blocking one.
    pub awaited: AwaitedWords,
    /// Records that are stored safely elsewhere; written by the collector, in a cache line of its own.
    pub acknowledged: AtomicU64,
    /// Padding to a cache line.
    pub pad_acknowledged: [AtomicU64; 7],
    /// Handles of the first requests that the operation being executed waits for.
    pub awaited_requests: [AtomicU64; N_AWAITED_REQUESTS],
    /// Requests that the thread made, each in the place of its handle ([`request_place`]); a later one replaces an
    /// earlier one there.
    pub requests: [RequestSlot; N_REQUEST_SLOTS],
}

/// Bit of [`ThreadHeader::in_operation`] that says that the operation has returned.
pub const LEFT: u32 = 1 << 31;
/// Communicators whose collective calls are counted.
pub const N_COLLECTIVE_SLOTS: usize = 128;
/// Requests of one waiting call that are published; further ones are only counted.
pub const N_AWAITED_REQUESTS: usize = 64;
/// Places for requests that a thread made.
pub const N_REQUEST_SLOTS: usize = 256;

/// Returns the place of a request in [`ThreadHeader::requests`].
#[inline(always)]
pub fn request_place(request: u64) -> usize {
    const BITS: u32 = N_REQUEST_SLOTS.trailing_zeros();
    (request.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - BITS)) as usize
}

/// [`events::Awaited`] in shared memory, without its requests.
#[derive(Debug)]
#[repr(C)]
pub struct AwaitedWords {
    /// [`events::CommunicatorKey::id`].
    pub communicator: AtomicU32,
    /// [`events::CommunicatorKey::ordinal`].
    pub ordinal: AtomicU32,
    /// See [`events::Awaited::peer`].
    pub peer: AtomicU32,
    /// See [`events::Awaited::tag`].
    pub tag: AtomicU32,
    /// See [`events::Awaited::source`].
    pub source: AtomicU32,
    /// See [`events::Awaited::source_tag`].
    pub source_tag: AtomicU32,
    /// See [`events::Awaited::count`].
    pub count: AtomicU64,
    /// See [`events::Awaited::n_requests`].
    pub n_requests: AtomicU32,
    /// Padding to a cache line.
    pub pad: [AtomicU32; 7],
}

const _: () = assert!(size_of::<AwaitedWords>() == 64);

/// [`events::AwaitedRequest`] in shared memory, with its handle.
#[derive(Debug)]
#[repr(C)]
pub struct RequestSlot {
    /// Handle; 0 in a place not used yet.
    pub request: AtomicU64,
    /// See [`events::AwaitedRequest::operation`].
    pub operation: AtomicU32,
    /// See [`events::AwaitedRequest::peer`].
    pub peer: AtomicU32,
    /// See [`events::AwaitedRequest::tag`].
    pub tag: AtomicU32,
    /// [`events::CommunicatorKey::id`].
    pub communicator: AtomicU32,
    /// [`events::CommunicatorKey::ordinal`].
    pub ordinal: AtomicU32,
    /// Padding to half a cache line.
    pub pad: AtomicU32,
}

const _: () = assert!(size_of::<RequestSlot>() == 32);

/// [`events::CollectiveCalls`] in shared memory.
#[derive(Debug)]
#[repr(C)]
pub struct CollectiveSlot {
    /// [`events::CommunicatorKey::id`].
    pub communicator: AtomicU32,
    /// [`events::CommunicatorKey::ordinal`].
    pub ordinal: AtomicU32,
    /// Calls entered.
    pub n_calls: AtomicU64,
    /// Operation of the last call.
    pub operation: AtomicU32,
    /// Padding.
    pub pad: AtomicU32,
    /// Return address of the last call.
    pub address: AtomicU64,
}

const _: () = assert!(size_of::<CollectiveSlot>() == 32);

/// [`events::OpenMpCounters`] in shared memory. Threads that meet regions add to it; `address` is 0 before its first use.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct OpenMpSlot {
    /// See [`events::OpenMpCounters::address`].
    pub address: AtomicU64,
    /// Executions.
    pub n_executions: AtomicU64,
    /// See [`events::OpenMpCounters::elapsed_ticks`].
    pub elapsed_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::team_ticks`].
    pub team_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::busy_ticks`].
    pub busy_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::busy_max_ticks`].
    pub busy_max_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::late_ticks`].
    pub late_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::mpi_ticks`].
    pub mpi_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::mpi_first_ticks`].
    pub mpi_first_ticks: AtomicU64,
    /// See [`events::OpenMpCounters::n_threads_max`].
    pub n_threads_max: AtomicU64,
    /// See [`events::OpenMpCounters::n_with_tasks`].
    pub n_with_tasks: AtomicU64,
}

const _: () = assert!(OPENMP_BYTES.is_multiple_of(PAGE));
