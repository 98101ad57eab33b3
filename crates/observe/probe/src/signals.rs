//! Replacements of the program's signal functions: they keep the signals unblocked that are used to install
//! probes (`instrument::guard`), and otherwise behave as the originals.
//!
//! # Invariants
//! - Async-signal-safe and usable before any setup, like the originals: no symbol is looked up.
//!
//! # Not here
//! Calls that bypass these names: system calls, and calls inside the C library.
#![allow(unsafe_code, reason = "stands between the program and its C library")]

use crate::sampling;
use instrument::{guard, live};
use std::ffi::c_int;

type Handler = libc::sighandler_t;

unsafe extern "C" {
    /// Other names of glibc's `sigaction` and `signal`.
    #[link_name = "__sigaction"]
    fn real_sigaction(
        signal: c_int,
        new: *const libc::sigaction,
        old: *mut libc::sigaction,
    ) -> c_int;
    #[link_name = "ssignal"]
    fn real_signal(signal: c_int, handler: Handler) -> Handler;
}

/// Does the same as glibc's `pthread_sigmask`: keeps two signals of glibc's own unblocked.
unsafe extern "C" fn real_sigmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    /// Signals 32 and 33: thread cancellation, and changes of the user id in all threads.
    const OF_LIBRARY: u64 = 0b11 << 31;
    const SET_BYTES: usize = size_of::<u64>();
    // SAFETY: null, or the caller's set; signals are its first bits.
    let wanted = unsafe { new.cast::<u64>().as_ref() }.map(|first| first & !OF_LIBRARY);
    let set = wanted.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let number = libc::SYS_rt_sigprocmask;
    let result: i64;
    // SAFETY: the system call, with no code of ours in between that could change `errno`.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") i64::from(how),
            in("rsi") set,
            in("rdx") old,
            in("r10") SET_BYTES,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    c_int::try_from(-result).unwrap_or(libc::EINVAL)
}

/// # Safety
/// POSIX's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { guard::sigmask(real_sigmask, how, new, old) }
}

/// # Safety
/// POSIX's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments.
    let error = unsafe { guard::sigmask(real_sigmask, how, new, old) };
    if error == 0 {
        return 0;
    }
    // SAFETY: the calling thread's own word.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *errno = error };
    -1
}

/// # Safety
/// POSIX's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !new.is_null() {
        sampling::yields(signal);
    }
    // SAFETY: the program's own arguments.
    unsafe { guard::sigaction(real_sigaction, signal, new, old) }
}

/// # Safety
/// POSIX's.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: Handler) -> Handler {
    sampling::yields(signal);
    if !live::is_ours(signal) {
        // SAFETY: the program's own arguments.
        return unsafe { real_signal(signal, handler) };
    }
    // SAFETY: numbers and an empty set; a handler of null is the default.
    let mut new = unsafe { std::mem::zeroed::<libc::sigaction>() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    let mut old = new;
    // SAFETY: both actions are ours, the handler is the program's.
    let result = unsafe { guard::sigaction(real_sigaction, signal, &raw const new, &raw mut old) };
    if result == 0 { old.sa_sigaction } else { libc::SIG_ERR }
}
