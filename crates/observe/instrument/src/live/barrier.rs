//! Barrier that makes all cores running this process see changed code.
#![allow(unsafe_code, reason = "system calls")]

use std::arch::x86_64::__cpuid;
use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

const REGISTER: c_int = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
const SYNC: c_int = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;

/// Error number of registering; 0 if the barrier is available.
static ERRNO: AtomicI32 = AtomicI32::new(libc::ENOSYS);

/// Registers the process, if the system has such a barrier.
pub(super) fn register() {
    let errno = match membarrier(REGISTER) {
        true => 0,
        false => io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOSYS),
    };
    ERRNO.store(errno, Ordering::Relaxed);
}

/// Returns whether [`sync`] reaches other threads.
pub(super) fn is_there() -> bool {
    errno() == 0
}

/// Error number of registering.
pub(super) fn errno() -> i32 {
    ERRNO.load(Ordering::Relaxed)
}

/// Returns once every thread has discarded instructions that it fetched or decoded from old code.
///
/// Without the system's barrier, only the calling thread has.
pub(super) fn sync() {
    if is_there() {
        // A registered process fails only for a temporary lack of memory.
        while !membarrier(SYNC) {
            membarrier(REGISTER);
        }
    } else {
        // `cpuid` serializes the core; its result is not used.
        std::hint::black_box(__cpuid(0));
    }
}

fn membarrier(command: c_int) -> bool {
    // SAFETY: this system call touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
