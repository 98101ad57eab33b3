//! What follows a poll of the MPI library.
#![allow(unsafe_code, reason = "thread-local state behind a raw pointer")]

use super::{HAS_OTHER_POLLER, is_alone, mode};
use crate::pause::{self, Mode, Pause};
use crate::thread::{self, Thread};
use crate::{monitoring, next};
use std::sync::atomic::Ordering;

/// Pauses after a poll, unless it found something.
#[inline]
pub(super) fn after_poll(has_found: bool) {
    match mode() {
        Mode::Off => {}
        _ if has_found => begin_again(),
        mode => pause::make(choose(mode, 0)),
    }
}

#[inline(never)]
fn begin_again() {
    if let Some(thread) = watched() {
        // SAFETY: the calling thread's own state; no other reference to it lives while MPI runs.
        let thread = unsafe { &mut *thread };
        thread.wait.begin_again();
    }
}

/// Chooses the pause after a poll that found nothing, in a library in which yielding is better than sleeping for some time.
#[inline(never)]
pub(super) fn choose(mode: Mode, yield_us: u64) -> Pause {
    let Some(thread) = watched() else {
        if monitoring::is_running() {
            HAS_OTHER_POLLER.store(true, Ordering::Relaxed);
        }
        return Pause::None;
    };
    // SAFETY: the calling thread's own state; no other reference to it lives while MPI runs.
    let thread = unsafe { &mut *thread };
    let Some((operation, call_ticks)) = thread.writer.call_in_progress() else {
        return Pause::None;
    };
    let is_blocking = next::IS_BLOCKING.get(usize::from(operation)).copied().unwrap_or(false);
    // A thread of MPICH polls with a lock held, which others need.
    let yield_us = if is_alone() { yield_us } else { u64::MAX };
    thread.wait.after_poll(mode, (call_ticks, is_blocking), yield_us)
}

fn watched() -> Option<*mut Thread> {
    let thread = thread::attached();
    thread::is_watched(thread).then_some(thread)
}
