//! Waiting in MPI: a rank that waits for others gives its core away where cores are short.
//!
//! MPI libraries wait by polling. Where ranks outnumber cores, a rank that polls keeps the core that the awaited rank
//! needs, for a whole time slice. Every poll goes through one function of a lower library (`open_mpi`, `ucx`, `fabric`);
//! there this rank spins, yields or sleeps (`crate::pause`), as its mode says. The program's calls stay as they are: the same functions,
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
mod poll;
mod ucx;

use crate::pause::{self, Mode};
use crate::thread;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

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
/// Whether a thread polls that is not the program's.
static HAS_OTHER_POLLER: AtomicBool = AtomicBool::new(false);

/// Present mode.
#[inline(always)]
pub(crate) fn mode() -> Mode {
    let mode = MODE.load(Ordering::Relaxed);
    Mode::of_value(mode.into()).unwrap_or_default()
}

/// Takes the place in the polling loop of this process's MPI library, where a change of the mode has its effect.
///
/// # Errors
/// When the loop is not known.
pub(crate) fn check() -> Result<(), WaitingError> {
    pause::prepare();
    if !enter() {
        return Err(WaitingError::UnknownLoop);
    }
    open_mpi::follow(mode());
    Ok(())
}

/// Returns whether the library gives cores away without us: Open MPI does, where its launcher sees that
/// ranks share cores or the user asks for it.
pub(crate) fn yields_by_itself() -> bool {
    open_mpi::yields_by_itself()
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
    Ok(Mode::of_value(before.into()).unwrap_or_default())
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

/// Returns whether the only thread that may hold the library's locks is the calling one.
fn is_alone() -> bool {
    thread::n_callers() <= 1 && !HAS_OTHER_POLLER.load(Ordering::Relaxed)
}
