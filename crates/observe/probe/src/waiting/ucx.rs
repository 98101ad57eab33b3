//! Polling loop of MPICH on UCX: each poll calls `ucp_worker_progress`, which returns the number of events.
//!
//! Polls of the shared memory of a node come by here, too.
#![allow(unsafe_code, reason = "calls functions behind the MPI library")]

use super::poll;
use crate::{next, object};
use std::ffi::{CStr, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

const POLL: &CStr = c"ucp_worker_progress";

/// Address of UCX's function; 0 before it was looked up.
static REAL_POLL: AtomicUsize = AtomicUsize::new(0);

type Poll = unsafe extern "C" fn(*mut c_void) -> c_uint;

/// Takes the place of the poll, unless it is taken; returns false in a library without UCX.
pub(super) fn enter() -> bool {
    if REAL_POLL.load(Ordering::Acquire) != 0 {
        return true;
    }
    let real = next::real_symbol(POLL).addr();
    if real == 0 {
        return false;
    }
    REAL_POLL.store(real, Ordering::Release);
    object::bind_calls(POLL, poll_ucx as *const () as usize, |_| true)
}

/// Stands in for `ucp_worker_progress`.
unsafe extern "C" fn poll_ucx(worker: *mut c_void) -> c_uint {
    let real = REAL_POLL.load(Ordering::Relaxed);
    // SAFETY: stored before any call was bound to us; UCX's function of this signature.
    let real = unsafe { std::mem::transmute::<usize, Poll>(real) };
    // SAFETY: the MPI library's own argument.
    let n_events = unsafe { real(worker) };
    poll::after_poll(n_events != 0);
    n_events
}
