//! Makes all cores that run this process see changed code.
#![allow(unsafe_code, reason = "system calls")]

use std::arch::x86_64::__cpuid;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

const REGISTER: c_int = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
const SYNC: c_int = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;

static IS_THERE: AtomicBool = AtomicBool::new(false);

/// Registers the process, where the system has such a barrier.
pub(super) fn register() {
    IS_THERE.store(membarrier(REGISTER), Ordering::Relaxed);
}

/// Whether [`sync`] reaches other threads.
pub(super) fn is_there() -> bool {
    IS_THERE.load(Ordering::Relaxed)
}

/// Returns when every thread has stopped using what it fetched or decoded of old code.
///
/// Without a barrier of the system only the calling thread has.
pub(super) fn sync() {
    if is_there() {
        // A registered process only fails for lack of memory, which passes.
        while !membarrier(SYNC) {
            membarrier(REGISTER);
        }
    } else {
        // `cpuid` serializes the core; its answer is not wanted.
        std::hint::black_box(__cpuid(0));
    }
}

fn membarrier(command: c_int) -> bool {
    // SAFETY: this system call touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
