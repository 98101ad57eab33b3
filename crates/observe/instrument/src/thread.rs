//! Two words per thread, accessed without a function call (initial-exec TLS).
#![allow(unsafe_code, reason = "reads the thread pointer")]

use ring::RingCursor;
use std::arch::{asm, global_asm};
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

global_asm!(
    ".pushsection .tbss.sintonia_instrument, \"awT\", @nobits",
    ".hidden sintonia_instrument_tls",
    ".globl sintonia_instrument_tls",
    ".type sintonia_instrument_tls, @object",
    ".size sintonia_instrument_tls, 16",
    ".p2align 3",
    "sintonia_instrument_tls:",
    ".zero 16",
    ".popsection",
);

#[derive(Debug)]
#[repr(C)]
struct Raw {
    cursor: *mut RingCursor,
    is_attaching: u64,
}

/// The calling thread's words.
pub(crate) struct Words(*mut Raw);

/// Returns the calling thread's words.
pub(crate) fn words() -> Words {
    let words: *mut Raw;
    // SAFETY: reads the thread pointer and the offset of our symbol; on x86-64 the first word of the
    // thread control block is its own address.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + sintonia_instrument_tls@GOTTPOFF]",
            "add {words}, qword ptr fs:[0]",
            words = out(reg) words,
            options(pure, readonly, nostack),
        );
    }
    Words(words)
}

impl Words {
    /// Ring of the thread, or null.
    pub(crate) fn cursor(&self) -> *mut RingCursor {
        // SAFETY: the calling thread's own word.
        unsafe { (*self.0).cursor }
    }

    pub(crate) fn set_cursor(&self, cursor: *mut RingCursor) {
        // SAFETY: as above.
        unsafe { (*self.0).cursor = cursor };
    }

    /// Returns whether the thread is being attached to a ring.
    pub(crate) fn is_attaching(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.0).is_attaching != 0 }
    }

    pub(crate) fn set_attaching(&self, is_attaching: bool) {
        // SAFETY: as above.
        unsafe { (*self.0).is_attaching = is_attaching.into() };
    }
}

/// Makes the calling thread request a ring again at its next passage: call it before its ring is freed, when the
/// thread ends, and in the child of a fork.
pub fn forget_thread() {
    words().set_cursor(std::ptr::null_mut());
}

/// Words of a thread, for another thread that takes its ring away.
#[derive(Clone, Copy, Debug)]
pub struct ThreadWords(*mut Raw);

// SAFETY: only an address; its user guarantees that the thread exists.
unsafe impl Send for ThreadWords {}

impl ThreadWords {
    /// Returns the words of the calling thread.
    pub fn own() -> Self {
        Self(words().0)
    }

    /// As [`forget_thread`], for that thread, which must not be in a passage now.
    ///
    /// # Safety
    /// The thread has not ended.
    pub unsafe fn forget(self) {
        // SAFETY: the caller promises that the thread has not ended.
        let cursor = unsafe { &raw mut (*self.0).cursor };
        // SAFETY: a word of that size; its thread writes it only in a passage.
        unsafe { AtomicPtr::from_ptr(cursor) }.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// The program's `errno`, saved during our own system calls.
pub(crate) struct Errno(c_int);

impl Errno {
    pub(crate) fn keep() -> Self {
        // SAFETY: the calling thread's own word.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: as above; always there.
        Self(unsafe { place.read() })
    }

    /// Restores `errno`, and returns `value`.
    pub(crate) fn give_back<T>(self, value: T) -> T {
        // SAFETY: the calling thread's own word.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: as above; always there.
        unsafe { place.write(self.0) };
        value
    }
}
