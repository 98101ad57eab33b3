//! Replacements of the program's signal functions that keep the signals unblocked that changing code needs; `probe`
//! exports them under the names of the originals.
//!
//! # Invariants
//! - Before [`crate::live::reserve`], and for other signals, the calls behave as the originals.
//! - Async-signal-safe, like the originals.
#![allow(unsafe_code, reason = "stands between the program and its C library")]

use crate::live;
use std::ffi::c_int;

/// `pthread_sigmask` or `sigprocmask`.
pub type Mask = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

/// `sigaction`.
pub type SigAction =
    unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// Changes the calling thread's mask, and leaves our signals unblocked.
///
/// # Safety
/// As for `real`, which is the function of the C library.
pub unsafe fn sigmask(
    real: Mask,
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    if how == libc::SIG_UNBLOCK || new.is_null() {
        // SAFETY: the program's own arguments, passed on unchanged.
        return unsafe { real(how, new, old) };
    }
    // SAFETY: the program passes a readable set.
    let mut open = unsafe { *new };
    // SAFETY: a set of our own.
    unsafe { live::open_signals(&raw mut open) };
    // SAFETY: the program's arguments except the set, which is a copy of its own.
    unsafe { real(how, &raw const open, old) }
}

/// Sets an action: beside our own for one of our signals, otherwise with our signals unblocked while it runs.
///
/// # Safety
/// As for `real`, which is the function of the C library.
pub unsafe fn sigaction(
    real: SigAction,
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if live::is_ours(signal) {
        // SAFETY: the program's own arguments, passed on unchanged.
        return unsafe { live::chain_trap_handler(signal, new, old) };
    }
    if new.is_null() {
        // SAFETY: the program's own arguments, passed on unchanged.
        return unsafe { real(signal, new, old) };
    }
    // SAFETY: the program passes a readable action.
    let mut open = unsafe { *new };
    // SAFETY: a set of our own.
    unsafe { live::open_signals(&raw mut open.sa_mask) };
    // SAFETY: the program's arguments except the action, which is a copy of its own.
    unsafe { real(signal, &raw const open, old) }
}
