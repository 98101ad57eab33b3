//! Selects which group of a program a process takes part in (its group number).
//!
//! A program may join several groups, one after the other, and every rank does so equally often. A process that
//! was added runs the program from its start: it counts its calls, and takes part only in the group whose rank 0
//! added it.

use super::MpiTransport;
use crate::CommError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of times this process has tried to join a group.
static N_GROUPS: AtomicU32 = AtomicU32::new(0);
/// True if this process was added by another rank.
static WAS_ADDED: AtomicBool = AtomicBool::new(false);
/// Transport of an added process, and the number of the group that it is for.
static WAITING: Mutex<Option<(u32, MpiTransport)>> = Mutex::new(None);

/// Returns the next group number, counted from 1.
pub(super) fn next() -> u32 {
    N_GROUPS.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns the result of joining for a process that was added; `None` for one that was launched.
pub(super) fn of_added(group_number: u32) -> Option<Result<MpiTransport, CommError>> {
    if !WAS_ADDED.load(Ordering::Acquire) {
        return None;
    }
    let mut waiting = waiting();
    let end = waiting.take_if(|(wanted, _)| *wanted == group_number);
    Some(end.map(|(_, end)| end).ok_or(CommError::OtherGroup))
}

/// Returns the transport of a newly added process if its group number is `wanted`, or keeps it until then.
pub(super) fn added(
    end: MpiTransport,
    wanted: u32,
    group_number: u32,
) -> Result<MpiTransport, CommError> {
    WAS_ADDED.store(true, Ordering::Release);
    if wanted == group_number {
        return Ok(end);
    }
    *waiting() = Some((wanted, end));
    Err(CommError::OtherGroup)
}

fn waiting() -> MutexGuard<'static, Option<(u32, MpiTransport)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
