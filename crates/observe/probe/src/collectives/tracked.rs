//! Communicators whose calls are counted, and their shadows.
//!
//! A communicator's key follows from that of the communicator it was made from, from the number of communicators made
//! from that before, and from its members: MPI orders calls that make communicators of one another, whatever the threads,
//! so that all members compute the same key.
//!
//! # Invariants
//! - A look-up takes no lock.

use super::Kind;
use super::leader::Leader;
use crate::handle::Handle;
use crate::library::MpiLibrary;
use crate::{monitoring, pmpi};
use ring::board::{Board, Change, N_ARMS, N_CELLS, N_SEATS, RankTable};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Mutex, PoisonError};

/// Communicators tracked at a time.
const N_TRACKED: usize = 64;
/// Marks a place whose communicator was freed.
const FREED: usize = 1;
/// Modes beside the algorithm of all calls: each cell has its own.
const BY_CELL: u8 = 254;

static PLACES: [Tracked; N_TRACKED] = [const { Tracked::new() }; N_TRACKED];
/// Held while a place is taken.
static TAKING: Mutex<()> = Mutex::new(());

/// A communicator.
#[derive(Debug)]
pub(super) struct Tracked {
    /// C handle; 0 where there is none.
    handle: AtomicUsize,
    key: AtomicU64,
    /// Communicators made from it.
    n_made: AtomicU32,
    rank: AtomicUsize,
    n_ranks: AtomicUsize,
    /// Synchronizing calls so far.
    n_calls: AtomicU64,
    table: AtomicPtr<RankTable>,
    /// Whether the shadows could be made, as far as it was tried.
    is_able: AtomicBool,
    /// Algorithm of all calls, or [`BY_CELL`].
    mode: AtomicU8,
    is_timed: AtomicBool,
    choices: [AtomicU8; N_CELLS],
    shadows: [AtomicUsize; N_ARMS],
    fortran_shadows: [AtomicI32; N_ARMS],
    leader: Mutex<Leader>,
}

/// A communicator that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) handle: usize,
    pub(super) id: u32,
    pub(super) rank: i64,
    pub(super) n_ranks: u64,
}

/// Place of a communicator among those made from the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Creation {
    key: u64,
    n_made: u32,
}

impl Creation {
    /// That of the world.
    pub(super) const OF_WORLD: Self = Self { key: 0, n_made: 0 };
}

/// Notes that a communicator is being made from another one, which all ranks of that do in the same order.
pub(crate) fn creating(parent: Handle) -> Option<Creation> {
    if !super::IS_ARMED.load(Ordering::Relaxed) {
        return None;
    }
    let parent = find(parent, monitoring::library()?)?;
    let n_made = parent.n_made.fetch_add(1, Ordering::Relaxed) + 1;
    Some(Creation { key: parent.key.load(Ordering::Relaxed), n_made })
}

/// Returns a communicator if it is tracked.
pub(super) fn find(comm: Handle, library: &MpiLibrary) -> Option<&'static Tracked> {
    let handle = library.c_handle(comm, pmpi::comm_from_fortran)?;
    let start = first_place(handle);
    (0..N_TRACKED)
        .map(|step| &PLACES[(start + step) % N_TRACKED])
        .map_while(|place| match place.handle.load(Ordering::Acquire) {
            0 => None,
            of_place => Some((of_place, place)),
        })
        .find_map(|(of_place, place)| (of_place == handle).then_some(place))
}

fn first_place(handle: usize) -> usize {
    handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - N_TRACKED.trailing_zeros())
}

/// Tracks a communicator, if it has a suitable size and there is room.
pub(super) fn add(creation: Creation, made: Made, library: &MpiLibrary) {
    let (Ok(rank), Ok(n_ranks)) = (usize::try_from(made.rank), usize::try_from(made.n_ranks))
    else {
        return;
    };
    if !(2..=N_SEATS).contains(&n_ranks) || find(Handle::c(made.handle), library).is_some() {
        return;
    }
    let _taking = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let start = first_place(made.handle);
    let places = (0..N_TRACKED).map(|step| &PLACES[(start + step) % N_TRACKED]);
    let mut free = places.filter(|place| place.handle.load(Ordering::Acquire) <= FREED);
    let Some(place) = free.next() else { return };
    let mut hasher = DefaultHasher::new();
    (creation.key, creation.n_made, made.id, n_ranks).hash(&mut hasher);
    place.reset();
    place.key.store(hasher.finish().max(1), Ordering::Relaxed);
    place.rank.store(rank, Ordering::Relaxed);
    place.n_ranks.store(n_ranks, Ordering::Relaxed);
    place.handle.store(made.handle, Ordering::Release);
}

/// Frees the shadows of a communicator that is about to be freed, as all its ranks do.
pub(crate) fn freeing(comm: Handle) {
    if super::IS_ARMED.load(Ordering::Relaxed)
        && let Some(tracked) = monitoring::library().and_then(|library| find(comm, library))
    {
        tracked.release();
    }
}

/// Frees all shadows, in an order that ranks share.
pub(super) fn release_all() {
    let used = PLACES.iter().filter(|place| FREED < place.handle.load(Ordering::Acquire));
    let mut used: Vec<_> = used.collect();
    used.sort_by_key(|place| place.key.load(Ordering::Relaxed));
    used.into_iter().for_each(Tracked::release);
}

impl Tracked {
    const fn new() -> Self {
        Self {
            handle: AtomicUsize::new(0),
            key: AtomicU64::new(0),
            n_made: AtomicU32::new(0),
            rank: AtomicUsize::new(0),
            n_ranks: AtomicUsize::new(0),
            n_calls: AtomicU64::new(0),
            table: AtomicPtr::new(null_mut()),
            is_able: AtomicBool::new(true),
            mode: AtomicU8::new(0),
            is_timed: AtomicBool::new(false),
            choices: [const { AtomicU8::new(0) }; N_CELLS],
            shadows: [const { AtomicUsize::new(0) }; N_ARMS],
            fortran_shadows: [const { AtomicI32::new(0) }; N_ARMS],
            leader: Mutex::new(Leader::new()),
        }
    }

    fn reset(&self) {
        self.n_made.store(0, Ordering::Relaxed);
        self.n_calls.store(0, Ordering::Relaxed);
        self.table.store(null_mut(), Ordering::Relaxed);
        self.is_able.store(true, Ordering::Relaxed);
        self.mode.store(0, Ordering::Relaxed);
        self.is_timed.store(false, Ordering::Relaxed);
        self.shadows.iter().for_each(|shadow| shadow.store(0, Ordering::Relaxed));
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = Leader::new();
    }

    pub(super) fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    pub(super) fn rank(&self) -> usize {
        self.rank.load(Ordering::Relaxed)
    }

    pub(super) fn n_ranks(&self) -> usize {
        self.n_ranks.load(Ordering::Relaxed)
    }

    /// Counts a synchronizing call; returns its number.
    pub(super) fn count_call(&self) -> u64 {
        // Calls of one communicator come one after the other.
        let count = self.n_calls.load(Ordering::Relaxed) + 1;
        self.n_calls.store(count, Ordering::Relaxed);
        count
    }

    /// The communicator's table, once the rank has its seat.
    pub(super) fn table(&self) -> Option<&'static RankTable> {
        // SAFETY: null, or a part of a board that is never unmapped.
        unsafe { self.table.load(Ordering::Relaxed).as_ref() }
    }

    /// Takes the rank's seat if it has none.
    pub(super) fn seat(&self, board: Option<&'static Board>) -> Option<&'static RankTable> {
        self.table().or_else(|| {
            let table = board?.table(self.key.load(Ordering::Relaxed))?;
            self.table.store(std::ptr::from_ref(table).cast_mut(), Ordering::Relaxed);
            Some(table)
        })
    }

    pub(super) fn is_able(&self) -> bool {
        self.is_able.load(Ordering::Relaxed)
    }

    pub(super) fn note_failure(&self) {
        self.is_able.store(false, Ordering::Relaxed);
    }

    /// Returns whether calls are timed.
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed.load(Ordering::Relaxed)
    }

    /// Returns whether the ranks' counts are compared: before shadows are made, and while algorithms are tried.
    pub(super) fn is_watched(&self) -> bool {
        self.is_timed() || self.shadows[1].load(Ordering::Relaxed) == 0
    }

    /// Algorithm of a cell.
    pub(super) fn arm(&self, cell: usize) -> u8 {
        match self.mode.load(Ordering::Relaxed) {
            BY_CELL => self.choices[cell].load(Ordering::Relaxed),
            arm => arm,
        }
    }

    /// C handle of a shadow.
    pub(super) fn shadow(&self, arm: u8) -> Option<usize> {
        let handle = self.shadows.get(usize::from(arm))?.load(Ordering::Relaxed);
        (handle != 0).then_some(handle)
    }

    /// Address of the Fortran handle of a shadow.
    pub(super) fn fortran_shadow(&self, arm: u8) -> Option<usize> {
        self.shadow(arm)?;
        Some(std::ptr::from_ref(self.fortran_shadows.get(usize::from(arm))?).addr())
    }

    /// Keeps a shadow for an algorithm.
    pub(super) fn keep(&self, arm: usize, handle: usize, fortran: i32) {
        self.fortran_shadows[arm].store(fortran, Ordering::Relaxed);
        self.shadows[arm].store(handle, Ordering::Relaxed);
    }

    /// Makes a change that all ranks make at this call.
    pub(super) fn change_to(&self, change: Change, table: &RankTable) {
        let (mode, is_timed) = match change {
            Change::Try(arm) => (arm, true),
            Change::Use => (BY_CELL, false),
            Change::Make | Change::Rest => (0, false),
        };
        if change == Change::Use {
            for (cell, choice) in self.choices.iter().enumerate() {
                choice.store(table.choice(cell), Ordering::Relaxed);
            }
        }
        self.mode.store(mode, Ordering::Relaxed);
        self.is_timed.store(is_timed, Ordering::Relaxed);
    }

    /// Decides about the next change.
    pub(super) fn lead(&self, table: &RankTable, count: u64) {
        // Never held by another thread: calls of one communicator come one after the other.
        if let Ok(mut leader) = self.leader.try_lock() {
            leader.decide(table, self.n_ranks(), count);
        }
    }

    fn release(&self) {
        self.mode.store(0, Ordering::Relaxed);
        for shadow in &self.shadows {
            let handle = shadow.swap(0, Ordering::Relaxed);
            if handle != 0 {
                pmpi::comm_free(handle);
            }
        }
        self.handle.store(FREED, Ordering::Release);
        if let Some(table) = self.table() {
            table.leave(self.n_ranks());
        }
    }
}

/// Number of kinds fits the board.
const _: () = assert!(Kind::Alltoall as usize + 1 == ring::board::N_KINDS);
