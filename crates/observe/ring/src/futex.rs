//! Words in shared memory on which threads sleep, those of other processes included.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while the word is `value`, for at most `at_most`; may wake spuriously.
pub fn wait(word: &AtomicU32, value: u32, at_most: Duration) {
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(at_most.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    let place = word.as_ptr();
    // SAFETY: a word that is borrowed, and a timeout of our own.
    unsafe { libc::syscall(libc::SYS_futex, place, libc::FUTEX_WAIT, value, &raw const timeout) };
}

/// Wakes all threads that wait on the word.
pub fn wake_all(word: &AtomicU32) {
    // SAFETY: a word that is borrowed; waking no thread is fine.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
