//! OpenMP parallel regions of the program: their threads' busy, late and waiting time.
//!
//! The thread that meets an outermost region takes a [`Frame`] with a [`Part`] per thread of the team. Each thread notes in its
//! part when it begins, ends and waits. At the end of the region, when all others have left it, the thread that met it adds the
//! parts to the region's counters in the segment.
//!
//! # Invariants
//! - Threads of a team share no cache line of ours while they compute: no lock, no allocation, no system call.
//! - Regions inside other regions belong to the outermost one.
//! - Executions beyond the room are the program's alone, and counted as such.
//!
//! # Not here
//! How a library tells of its regions: `gomp` and `ompt`. What idle threads do: `idling`.
#![allow(unsafe_code, reason = "parts are reached by raw pointers that cross the OpenMP library")]

pub(crate) mod gomp;
pub(crate) mod idling;
mod lending;
mod ompt;

use crate::monitoring;
use crate::thread::tls;
use ring::SegmentWriter;
use ring::clock;
use ring::layout::{N_OPENMP_REGIONS, OpenMpSlot};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Regions that may be executed at the same time, by different threads of the program.
const N_FRAMES: usize = 16;
/// Threads of a team that are timed.
const N_PARTS: usize = 512;

/// One execution of a region.
#[derive(Debug)]
struct Frame {
    is_taken: AtomicBool,
    /// Function and argument of the region, where a library calls it through us.
    function: AtomicU64,
    argument: AtomicU64,
    address: AtomicU64,
    begin: AtomicU64,
    /// Memory of its parts, made when it is used first.
    parts: AtomicPtr<Part>,
}

/// One thread's part of an execution; only that thread writes it until the execution ends.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Part {
    begin: AtomicU64,
    end: AtomicU64,
    /// Ticks waited for other threads, within the part.
    waited: AtomicU64,
    /// Ticks when the wait in progress began; 0 outside.
    waits_since: AtomicU64,
    mpi: AtomicU64,
    has_tasks: AtomicU64,
}

/// Part of threads in regions inside other regions.
static INNER: Part = Part {
    begin: AtomicU64::new(0),
    end: AtomicU64::new(0),
    waited: AtomicU64::new(0),
    waits_since: AtomicU64::new(0),
    mpi: AtomicU64::new(0),
    has_tasks: AtomicU64::new(0),
};

static FRAMES: [Frame; N_FRAMES] = [const {
    Frame {
        is_taken: AtomicBool::new(false),
        function: AtomicU64::new(0),
        argument: AtomicU64::new(0),
        address: AtomicU64::new(0),
        begin: AtomicU64::new(0),
        parts: AtomicPtr::new(null_mut()),
    }
}; N_FRAMES];

/// Addresses of the regions; a region's counters have the same position in the segment.
static ADDRESSES: [AtomicU64; N_OPENMP_REGIONS] = [const { AtomicU64::new(0) }; N_OPENMP_REGIONS];
/// Counters in the segment; null without a segment, or without room in it.
static SLOTS: AtomicPtr<OpenMpSlot> = AtomicPtr::new(null_mut());

/// Returns whether the process has an OpenMP library that tells us of its regions.
pub(crate) fn is_present() -> bool {
    gomp::is_loaded() || ompt::is_loaded()
}

/// Makes room for counters in the segment if the process has an OpenMP library. Called before monitoring starts.
pub(crate) fn prepare(segment: &SegmentWriter) {
    if !is_present() {
        return;
    }
    let slots = segment.open_openmp().map_or(null_mut(), |slots| slots.as_ptr().cast_mut());
    SLOTS.store(slots, Ordering::Release);
}

/// Adds the ticks of an MPI call to the part of the region in which the calling thread is.
#[cold]
#[inline(never)]
pub(crate) fn note_mpi(ticks: u64) {
    if let Some(part) = part() {
        add(&part.mpi, ticks);
    }
}

/// The part of the region in which the calling thread is; `None` outside.
#[inline(always)]
fn part<'a>() -> Option<&'a Part> {
    // SAFETY: the calling thread's own words.
    let part = unsafe { (*tls::words()).openmp_part };
    // SAFETY: null, or a part, whose memory is never freed.
    unsafe { part.cast::<Part>().as_ref() }
}

/// Sets the part of the region in which the calling thread is.
#[inline(always)]
fn set_part(part: *mut Part) {
    // SAFETY: the calling thread's own words.
    unsafe { (*tls::words()).openmp_part = part.cast() };
}

/// Takes a frame for an execution that begins now; `None` if it is not to be counted.
fn take(address: u64) -> Option<&'static Frame> {
    if SLOTS.load(Ordering::Relaxed).is_null() || !monitoring::is_running() {
        return None;
    }
    let is_free = |frame: &&Frame| !frame.is_taken.swap(true, Ordering::Acquire);
    let frame = FRAMES.iter().find(is_free);
    let frame = frame.filter(|frame| frame.has_parts());
    let Some(frame) = frame else {
        note_uncounted();
        return None;
    };
    frame.address.store(address, Ordering::Relaxed);
    frame.begin.store(clock::ticks(), Ordering::Relaxed);
    Some(frame)
}

#[cold]
fn note_uncounted() {
    if let Some(process) = monitoring::process() {
        process.segment.header().openmp_uncounted.fetch_add(1, Ordering::Relaxed);
    }
}

impl Frame {
    /// Makes the memory of the parts, once. Without it the frame stays taken.
    fn has_parts(&self) -> bool {
        if self.parts.load(Ordering::Relaxed).is_null() {
            let made = ring::private::bytes(N_PARTS * size_of::<Part>());
            self.parts
                .store(made.map_or(null_mut(), |start| start.as_ptr().cast()), Ordering::Release);
        }
        !self.parts.load(Ordering::Relaxed).is_null()
    }

    /// The part of a thread of the team; `None` for threads beyond the room.
    fn part(&self, thread: usize) -> Option<&'static Part> {
        let parts = self.parts.load(Ordering::Relaxed);
        if N_PARTS <= thread || parts.is_null() {
            return None;
        }
        // SAFETY: made with `N_PARTS` parts, of atomics, and never freed.
        Some(unsafe { &*parts.wrapping_add(thread) })
    }

    /// Begins the calling thread's part; returns the pointer to it.
    fn begin_part(&self, thread: usize) -> *mut Part {
        let Some(part) = self.part(thread) else { return null_mut() };
        part.begin.store(clock::ticks(), Ordering::Relaxed);
        std::ptr::from_ref(part).cast_mut()
    }

    /// Counts the execution, which ends now; all other threads of the team have left it.
    fn finish(&self) {
        let end = clock::ticks();
        let begin = self.begin.load(Ordering::Relaxed);
        let mut sums = Sums::default();
        for thread in 0..N_PARTS {
            let Some(part) = self.part(thread) else { break };
            if !sums.add(part, (begin, end)) {
                break;
            }
        }
        let address = self.address.load(Ordering::Relaxed);
        self.is_taken.store(false, Ordering::Release);
        match slot(address) {
            Some(slot) => sums.count(slot, (address, end.wrapping_sub(begin))),
            None => note_uncounted(),
        }
    }
}

/// Ticks of an execution over the threads of its team.
#[derive(Default)]
struct Sums {
    n_threads: u64,
    busy: u64,
    busy_max: u64,
    late: u64,
    mpi: u64,
    mpi_first: u64,
    has_tasks: bool,
}

impl Sums {
    /// Adds a part and clears it; returns false for a part that no thread began.
    fn add(&mut self, part: &Part, (begin, end): (u64, u64)) -> bool {
        let taken = |word: &AtomicU64| {
            let ticks = word.load(Ordering::Relaxed);
            word.store(0, Ordering::Relaxed);
            ticks
        };
        let from = taken(&part.begin);
        if from == 0 {
            return false;
        }
        let (ended, waits_since) = (taken(&part.end), taken(&part.waits_since));
        let (waited, mpi) = (taken(&part.waited), taken(&part.mpi));
        self.has_tasks |= taken(&part.has_tasks) != 0;
        let known_end = [waits_since, ended].into_iter().find(|ticks| *ticks != 0);
        let busy = known_end.unwrap_or(end).saturating_sub(from);
        let busy = busy.saturating_sub(waited).saturating_sub(mpi);
        if self.n_threads == 0 {
            self.mpi_first = mpi;
        }
        self.n_threads += 1;
        self.busy += busy;
        self.busy_max = self.busy_max.max(busy);
        self.late += from.saturating_sub(begin);
        self.mpi += mpi;
        true
    }

    fn count(&self, slot: &OpenMpSlot, (address, elapsed): (u64, u64)) {
        let more = |word: &AtomicU64, by: u64| word.fetch_add(by, Ordering::Relaxed);
        let team = self.n_threads * elapsed;
        // Threads that wait execute tasks, so nobody is known to wait.
        let busy = if self.has_tasks { team - self.mpi.min(team) } else { self.busy };
        let busy_max = if self.has_tasks { elapsed } else { self.busy_max };
        let late = if self.has_tasks { 0 } else { self.late };
        slot.address.store(address, Ordering::Relaxed);
        more(&slot.elapsed_ticks, elapsed);
        more(&slot.team_ticks, team);
        more(&slot.busy_ticks, busy);
        more(&slot.busy_max_ticks, busy_max);
        more(&slot.late_ticks, late);
        if self.mpi != 0 {
            more(&slot.mpi_ticks, self.mpi);
            more(&slot.mpi_first_ticks, self.mpi_first);
        }
        if self.has_tasks {
            more(&slot.n_with_tasks, 1);
        }
        if slot.n_threads_max.load(Ordering::Relaxed) < self.n_threads {
            slot.n_threads_max.store(self.n_threads, Ordering::Relaxed);
        }
        more(&slot.n_executions, 1);
    }
}

/// Counters of the region at `address`; `None` when there is no room for it.
fn slot(address: u64) -> Option<&'static OpenMpSlot> {
    let slots = SLOTS.load(Ordering::Acquire);
    if slots.is_null() {
        return None;
    }
    let position = position(address)?;
    // SAFETY: `N_OPENMP_REGIONS` slots of atomics in the segment, which is never unmapped.
    Some(unsafe { &*slots.wrapping_add(position) })
}

fn position(address: u64) -> Option<usize> {
    let first = (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize;
    let positions = (0..N_OPENMP_REGIONS).map(|step| (first + step) % N_OPENMP_REGIONS);
    for position in positions {
        let known = ADDRESSES[position].load(Ordering::Relaxed);
        if known == address {
            return Some(position);
        }
        let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
        let mine = ADDRESSES[position].compare_exchange(0, address, set, read);
        if mine.is_ok() || mine == Err(address) {
            return Some(position);
        }
    }
    None
}

impl Part {
    /// Notes that the calling thread starts to wait for its team.
    fn wait(&self) {
        self.waits_since.store(clock::ticks(), Ordering::Relaxed);
    }

    /// Notes that the wait is over.
    fn go_on(&self) {
        let since = self.waits_since.load(Ordering::Relaxed);
        if since != 0 {
            add(&self.waited, clock::ticks().saturating_sub(since));
            self.waits_since.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that the calling thread makes tasks.
    fn make_tasks(&self) {
        self.has_tasks.store(1, Ordering::Relaxed);
    }

    fn is_inner(&self) -> bool {
        std::ptr::eq(self, &raw const INNER)
    }
}

/// Adds to a word that only the calling thread writes.
fn add(word: &AtomicU64, by: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
