//! Lever `collectives`: calls go to whichever algorithm of the MPI library is fastest, for each communicator, kind of
//! operation and class of sizes.
//!
//! Open MPI fixes its algorithms when a communicator is made. So the ranks of a communicator make *shadows* of it, one for
//! each algorithm, inside one of the program's own collective calls, and later calls are passed on to one of them. All
//! ranks do so at the same call, on which they agree over memory that they share ([`ring::board`]): no message is sent
//! but those by which MPI makes the shadows.
//!
//! # Invariants
//! - A call is passed on by all ranks of its communicator or by none: every rank computes the choice from the kind of the
//!   operation and the size of its data, which MPI demands to be equal, and from changes made at the same call.
//! - Shadows are made in a call that no rank leaves before all have entered it.
//! - What may change results is passed on with `--tune-sums` only (`exact`).
//! - Without the lever in `--tune`, a call reads one flag.
//!
//! # Not here
//! The agreement and the trials (`ring::board`), and the decision to pull the lever (`tunlets`).
#![allow(unsafe_code, reason = "calls the program's own error handler")]

mod exact;
mod leader;
mod shadows;
mod tracked;

use crate::handle::Handle;
use crate::identity::Identity;
use crate::library::MpiLibrary;
use crate::monitoring::{self, Process};
use crate::{communicators, pmpi, thread};
use mpi_abi::LibraryFamily;
use ring::board::{Board, Change, N_CLASSES, Standing};
use ring::clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use tracked::{Made, Tracked};

pub(crate) use tracked::{Creation, creating, freeing};

/// Whether calls are counted.
static IS_ARMED: AtomicBool = AtomicBool::new(false);
/// Value of the lever.
static LEVEL: AtomicU8 = AtomicU8::new(0);
static BOARD: AtomicPtr<Board> = AtomicPtr::new(std::ptr::null_mut());
/// Reason why the lever does not apply to this process.
static REFUSAL: OnceLock<String> = OnceLock::new();

/// Kind of an operation whose algorithm can be chosen: those in which every rank waits for all others, so that its time
/// after the last one has come is that of the algorithm. The time of a broadcast is mostly that of waiting for its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Barrier,
    Allreduce,
    Allgather,
    Alltoall,
}

/// Names of the kinds, in their order.
const KINDS: [&str; 4] = ["Barrier", "Allreduce", "Allgather", "Alltoall"];

impl Kind {
    /// Cell of a call with this many bytes.
    fn cell(self, bytes: u64) -> usize {
        let class = bytes.checked_ilog2().map_or(0, |log| log as usize / 2);
        self as usize * N_CLASSES + class.min(N_CLASSES - 1)
    }
}

/// Arguments of a call on which its algorithm depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) count: i64,
    pub(crate) datatype: Handle,
    /// Operation of a reduction.
    pub(crate) op: Option<Handle>,
}

impl Data {
    /// No data.
    pub(crate) const NONE: Self = Self { count: 0, datatype: Handle::NOTHING, op: None };
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routed {
    tracked: Option<&'static Tracked>,
    /// Number of the shadow, from 1; 0 is the program's own communicator.
    arm: u8,
    /// Number of the call among those with data; 0 for others.
    count: u64,
    /// Cell that is timed, and the ticks at the beginning.
    timed: Option<(usize, u64)>,
}

/// Begins a call; returns where it goes.
#[inline(always)]
pub(crate) fn begin(kind: Kind, comm: Handle, data: Data) -> Routed {
    if IS_ARMED.load(Ordering::Relaxed) {
        return route(kind, comm, data);
    }
    Routed { tracked: None, arm: 0, count: 0, timed: None }
}

#[inline(never)]
fn route(kind: Kind, comm: Handle, data: Data) -> Routed {
    let mut routed = Routed { tracked: None, arm: 0, count: 0, timed: None };
    let Some(library) = monitoring::library() else { return routed };
    let Some(tracked) = tracked::find(comm, library) else { return routed };
    let bytes = bytes_of(data, library);
    if kind == Kind::Barrier || bytes != 0 {
        routed.count = tracked.count_call();
        if tracked.table().is_some() || 0 < level() {
            take_part(tracked, routed.count, library);
        }
    }
    if tracked.table().is_none() {
        return routed;
    }
    routed.tracked = Some(tracked);
    if exact::may_choose(data.op, data.datatype, library) {
        let cell = kind.cell(bytes);
        routed.arm = tracked.arm(cell);
        routed.timed = (tracked.is_timed() && routed.count != 0).then(|| (cell, clock::ticks()));
    }
    routed
}

/// Takes the rank's seat, makes a change that is due at this call, and decides about the next one if the rank leads.
fn take_part(tracked: &'static Tracked, count: u64, library: &'static MpiLibrary) {
    let Some(table) = tracked.seat(board()) else { return };
    let standing = Standing { level: level(), is_able: tracked.is_able() };
    // Ticks come first: whoever sees the count may read them.
    table.note_entry(tracked.rank(), count, clock::ticks());
    if let Some(change) = table.enter(tracked.rank(), count, standing) {
        if change == Change::Make {
            shadows::make(tracked, library);
        }
        tracked.change_to(change, table);
        table.clear(tracked.rank());
        table.adopted(tracked.rank(), count);
    }
    if tracked.rank() == 0 {
        tracked.lead(table, count);
    }
}

/// Returns whether several threads may call MPI at once.
fn is_multiple(library: &MpiLibrary) -> bool {
    let multiple = library.family.constants().thread_multiple;
    pmpi::thread_level().is_none_or(|level| level == multiple)
}

fn bytes_of(data: Data, library: &MpiLibrary) -> u64 {
    let count = u64::try_from(data.count).unwrap_or(0);
    let state = thread::attached();
    if count == 0 {
        return 0;
    }
    if thread::is_watched(state) {
        // SAFETY: the calling thread's own state; no other reference to it lives before the call is counted.
        return unsafe { &mut *state }.sizes.bytes_of(count, data.datatype, library);
    }
    let datatype = library.c_handle(data.datatype, pmpi::type_from_fortran);
    count.saturating_mul(datatype.and_then(pmpi::type_size).unwrap_or(0))
}

impl Routed {
    /// Communicator of the call in C.
    #[inline(always)]
    pub(crate) fn comm(&self, own: usize) -> usize {
        self.tracked.and_then(|tracked| tracked.shadow(self.arm)).unwrap_or(own)
    }

    /// Address of the communicator of the call in Fortran.
    #[inline(always)]
    pub(crate) fn fortran_comm(&self, own: usize) -> usize {
        self.tracked.and_then(|tracked| tracked.fortran_shadow(self.arm)).unwrap_or(own)
    }

    /// Ends the call, which returned this code.
    #[inline(always)]
    pub(crate) fn end(&self, code: i32) {
        if let Some(tracked) = self.tracked {
            self.end_of(tracked, code);
        }
    }

    #[inline(never)]
    fn end_of(&self, tracked: &Tracked, code: i32) {
        if code != 0 {
            if self.arm != 0 {
                // Shadows only return their errors: the program's handler belongs to its own communicator.
                pmpi::call_errhandler(tracked.handle(), code);
            }
            return;
        }
        let (Some(table), n_ranks) = (tracked.table(), tracked.n_ranks()) else { return };
        if let Some((cell, entered)) = self.timed {
            let end = clock::ticks();
            let begun = table.last_entry(n_ranks, self.count).clamp(entered.min(end), end);
            table.add(tracked.rank(), cell, end.saturating_sub(begun));
        }
        if self.count != 0 && tracked.is_watched() {
            table.check(n_ranks, self.count);
        }
    }
}

/// Notes a communicator that was just made.
pub(crate) fn made(creation: Option<Creation>, handle: Handle) {
    let (Some(creation), Some(library)) = (creation, monitoring::library()) else { return };
    let facts = communicators::look_up(handle, library);
    if let Some((handle, facts)) = facts.filter(|(_, facts)| !facts.is_inter) {
        let (id, n_ranks) = (facts.id, facts.n_ranks);
        tracked::add(creation, Made { handle, id, rank: facts.rank, n_ranks }, library);
    }
}

/// Gets ready before `MPI_Init`: Open MPI lets algorithms be chosen only where that was said at the start.
pub(crate) fn prepare() {
    const RULES: &std::ffi::CStr = c"OMPI_MCA_coll_tuned_use_dynamic_rules";
    let refusal = shadows::refusal_before_init();
    if let Some(refusal) = refusal {
        let _first = REFUSAL.set(refusal);
        return;
    }
    // SAFETY: before `MPI_Init`, as the program itself might do.
    unsafe { libc::setenv(RULES.as_ptr(), c"1".as_ptr(), 1) };
}

/// Begins to count after `MPI_Init`, in all ranks alike.
pub(crate) fn arm(process: &'static Process, identity: &Identity) {
    if process.options.collectives.is_none() {
        return;
    }
    let library = &process.library;
    let refusal = match library.family {
        // Open MPI 4.1.4 loses messages, or ends, where one thread makes communicators while another one receives.
        LibraryFamily::OpenMpi if is_multiple(library) => Some(
            "several threads may call MPI at once (`MPI_THREAD_MULTIPLE`), and Open MPI may hang when communicators \
             are made beside other calls"
                .to_owned(),
        ),
        LibraryFamily::OpenMpi => shadows::refusal_after_init(),
        _ => Some(
            "algorithms can be chosen under Open MPI only: where ranks share a node, the settings of MPICH have no effect"
                .to_owned(),
        ),
    };
    if let Some(refusal) = refusal {
        let _first = REFUSAL.set(refusal);
    }
    if REFUSAL.get().is_some() || !monitoring::has_world() {
        return;
    }
    let world = identity.world(&process.options.launch);
    let Ok(board) = Board::open(&process.folder.join(format!("{world:016x}.board"))) else {
        let _first = REFUSAL.set("there is no room in shared memory".to_owned());
        return;
    };
    BOARD.store(std::ptr::from_ref(board).cast_mut(), Ordering::Release);
    let (rank, n_ranks) = (identity.rank.into(), identity.size.into());
    let made = Made { handle: library.world, id: 0, rank, n_ranks };
    tracked::add(Creation::OF_WORLD, made, library);
    IS_ARMED.store(true, Ordering::Release);
}

/// Value of the lever.
fn level() -> u8 {
    LEVEL.load(Ordering::Relaxed)
}

/// Sets the lever: the program's next calls follow, once all ranks have it.
pub(crate) fn set(value: i64) {
    LEVEL.store(u8::try_from(value).unwrap_or(0), Ordering::Relaxed);
}

fn board() -> Option<&'static Board> {
    // SAFETY: null, or a board that is never unmapped.
    unsafe { BOARD.load(Ordering::Acquire).as_ref() }
}

/// Checks that the lever can get a value.
///
/// # Errors
/// The reason why it does not apply.
pub(crate) fn applies(value: i64) -> Result<(), String> {
    if let Some(refusal) = REFUSAL.get() {
        return Err(refusal.clone());
    }
    if !IS_ARMED.load(Ordering::Acquire) {
        return Err("calls have to be counted from the start, by `run --tune`".to_owned());
    }
    match board() {
        Some(board) if 1 < value && board.choices().is_empty() => {
            Err("no algorithm was found that is faster than the library's".to_owned())
        }
        _ => Ok(()),
    }
}

/// Largest number of choices that a sentence names.
const N_NAMED: usize = 6;

/// Sentence about the algorithms that are used, those first that bring most; empty for other values of the lever.
pub(crate) fn note(value: i64) -> String {
    let mut choices = board().filter(|_| 1 < value).map(Board::choices).unwrap_or_default();
    choices.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let mut cells = std::collections::BTreeSet::new();
    choices.retain(|choice| cells.insert((choice.cell, choice.arm)));
    let named = choices.iter().take(N_NAMED).map(|choice| {
        let (kind, class) = (choice.cell / N_CLASSES, choice.cell % N_CLASSES);
        let name = shadows::algorithm(kind, choice.arm);
        let gain = 1.0 / choice.ratio.max(1e-3);
        let (low, high) = (1_u64 << (2 * class), (1_u64 << (2 * class + 2)) - 1);
        let bytes = match (kind, class) {
            (0, _) => String::new(),
            (_, 0) => format!(" of up to {high} bytes"),
            _ if class + 1 == N_CLASSES => format!(" of {low} bytes and more"),
            _ => format!(" of {low} to {high} bytes"),
        };
        let operation = KINDS.get(kind).unwrap_or(&"");
        format!("`MPI_{operation}`{bytes} is {gain:.1} times as fast by {name}")
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Frees the shadows before `MPI_Finalize`.
pub(crate) fn release() {
    if IS_ARMED.swap(false, Ordering::AcqRel) {
        tracked::release_all();
    }
}

/// Ends counting in a forked child, which is no rank.
pub(crate) fn forget() {
    IS_ARMED.store(false, Ordering::Release);
}
