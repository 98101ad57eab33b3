//! Waiting in MPI: a rank that waits for others gives its core away where cores are short.
//!
//! MPI libraries wait by polling. Where ranks outnumber cores, a rank that polls keeps the core that the awaited rank
//! needs, for a whole time slice. Every poll goes through one function of a lower library (`open_mpi`, `ucx`, `fabric`);
//! there this rank spins, yields or sleeps (`pause`), as its mode says. The program's calls stay as they are: the same functions,
//! algorithms and messages, so results have the same bits, and each rank may change its mode at any time by itself.
//!
//! # Invariants
//! - Nothing is sent, and nothing is agreed upon with other ranks.
//! - With [`Mode::Off`] a poll costs one comparison more, and a call of MPI nothing.
//! - Only a thread that is in a monitored call sleeps, and only while no other thread of the process calls MPI: in some
//!   libraries a waiting thread holds a lock.
//!
//! # Not here
//! The decision to change the mode.

mod fabric;
mod open_mpi;
mod pause;
mod ucx;

use ring::clock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

pub(crate) use pause::Wait;

/// Conduct of a rank that waits in MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Polls, as the MPI library does by itself.
    #[default]
    Off = 0,
    /// Lets other threads run between polls.
    Yield = 1,
    /// Sleeps between polls.
    Nap = 2,
    /// Sleeps between polls for a while after it has lost its core while it polled; else as [`Self::Off`].
    Auto = 3,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Off, Self::Yield, Self::Nap, Self::Auto];

    /// Returns the mode with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let names = ["off", "yield", "nap", "auto"];
        names.iter().position(|known| *known == name).and_then(|at| Self::ALL.get(at)).copied()
    }
}

/// Reason why this process cannot wait in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WaitingError {
    /// Neither Open MPI nor MPICH on UCX or libfabric.
    #[error(
        "it is not known how this MPI library waits; use Open MPI, or MPICH built with UCX or libfabric"
    )]
    UnknownLoop,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Off as u8);
/// Threads of the program that call MPI.
static N_CALLERS: AtomicU32 = AtomicU32::new(0);
/// Whether a thread polls that is not the program's.
static HAS_OTHER_POLLER: AtomicBool = AtomicBool::new(false);
/// Ticks of the clock in a microsecond.
static TICKS_PER_US: AtomicU64 = AtomicU64::new(0);

/// Present mode.
#[inline(always)]
pub(crate) fn mode() -> Mode {
    let mode = MODE.load(Ordering::Relaxed);
    Mode::ALL.get(usize::from(mode)).copied().unwrap_or_default()
}

/// Takes the place in the polling loop of this process's MPI library, where a change of the mode has its effect.
///
/// # Errors
/// When the loop is not known.
pub(crate) fn check() -> Result<(), WaitingError> {
    if TICKS_PER_US.load(Ordering::Relaxed) == 0 {
        TICKS_PER_US.store(ticks_per_us(), Ordering::Relaxed);
    }
    if !enter() {
        return Err(WaitingError::UnknownLoop);
    }
    open_mpi::follow(mode());
    Ok(())
}

/// Changes the mode, in any thread at any time; returns the mode before.
///
/// # Errors
/// As [`check`]; the mode stays.
pub(crate) fn set_mode(mode: Mode) -> Result<Mode, WaitingError> {
    if mode != Mode::Off {
        check()?;
    }
    let before = MODE.swap(mode as u8, Ordering::Relaxed);
    open_mpi::follow(mode);
    Ok(Mode::ALL.get(usize::from(before)).copied().unwrap_or_default())
}

/// Gets ready before `MPI_Init`, for libraries where it would be too late afterwards.
pub(crate) fn prepare() {
    fabric::prepare();
}

/// Takes the place in the polling loop of the MPI library; returns false if the loop is not known.
fn enter() -> bool {
    if open_mpi::enter() {
        return true;
    }
    let polls_ucx = ucx::enter();
    polls_ucx || fabric::has_queue()
}

/// Polls again as the library does by itself, at the end of monitoring.
pub(crate) fn release() {
    if mode() != Mode::Off {
        let _always = set_mode(Mode::Off);
    }
}

/// Counts a thread that calls MPI from now on.
pub(crate) fn add_caller() {
    N_CALLERS.fetch_add(1, Ordering::Relaxed);
}

/// Counts a thread that ends.
pub(crate) fn remove_caller() {
    N_CALLERS.fetch_sub(1, Ordering::Relaxed);
}

/// Returns whether the only thread that may hold the library's locks is the calling one.
fn is_alone() -> bool {
    N_CALLERS.load(Ordering::Relaxed) <= 1 && !HAS_OTHER_POLLER.load(Ordering::Relaxed)
}

/// Measures the clock for 50 us.
fn ticks_per_us() -> u64 {
    const MEASURED_US: u32 = 50;
    let (begin, begin_ticks) = (std::time::Instant::now(), clock::ticks());
    while begin.elapsed().as_micros() < MEASURED_US.into() {}
    let us = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
    (clock::ticks().wrapping_sub(begin_ticks) / us).max(1)
}
