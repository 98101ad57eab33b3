//! Which of the groups of a program a process takes part in.
//!
//! A program may join a group several times, one after the other, and every rank does so equally often. A process
//! that was added begins the program anew: it counts along, and takes part in that group only whose rank 0
//! added it.

use super::MpiTransport;
use crate::CommError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often this process came to join a group.
static N_TURNS: AtomicU32 = AtomicU32::new(0);
/// Whether somebody added it.
static WAS_ADDED: AtomicBool = AtomicBool::new(false);
/// Its end, and the turn that it is for.
static WAITING: Mutex<Option<(u32, MpiTransport)>> = Mutex::new(None);

/// The next turn, counted from 1.
pub(super) fn next() -> u32 {
    N_TURNS.fetch_add(1, Ordering::Relaxed) + 1
}

/// What a process that was added has in this turn; `None` for a process that joins a group of its own accord.
pub(super) fn of_added(turn: u32) -> Option<Result<MpiTransport, CommError>> {
    if !WAS_ADDED.load(Ordering::Acquire) {
        return None;
    }
    let mut waiting = waiting();
    let end = waiting.take_if(|(wanted, _)| *wanted == turn);
    Some(end.map(|(_, end)| end).ok_or(CommError::OtherTurn))
}

/// The end of a process that was just added for the turn `wanted`.
pub(super) fn added(end: MpiTransport, wanted: u32, turn: u32) -> Result<MpiTransport, CommError> {
    WAS_ADDED.store(true, Ordering::Release);
    if wanted == turn {
        return Ok(end);
    }
    *waiting() = Some((wanted, end));
    Err(CommError::OtherTurn)
}

fn waiting() -> MutexGuard<'static, Option<(u32, MpiTransport)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
