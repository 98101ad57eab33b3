//! Two words per thread that are reached without a function call (initial-exec TLS).
#![allow(unsafe_code, reason = "reads the thread pointer")]

use ring::RingCursor;
use std::arch::{asm, global_asm};
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

/// The calling thread's words.
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
    /// The thread's ring, or null.
    pub(crate) fn cursor(&self) -> *mut RingCursor {
        // SAFETY: the calling thread's own word.
        unsafe { (*self.0).cursor }
    }

    pub(crate) fn set_cursor(&self, cursor: *mut RingCursor) {
        // SAFETY: as above.
        unsafe { (*self.0).cursor = cursor };
    }

    /// Whether the thread is about to get its ring.
    pub(crate) fn is_attaching(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.0).is_attaching != 0 }
    }

    pub(crate) fn set_attaching(&self, is_attaching: bool) {
        // SAFETY: as above.
        unsafe { (*self.0).is_attaching = is_attaching.into() };
    }
}

/// Lets the calling thread ask for a ring again at its next passage: before the one it has goes away, when the thread
/// ends, and in the child of a fork.
pub fn forget_thread() {
    words().set_cursor(std::ptr::null_mut());
}

/// The words of a thread, for another one that takes its ring away.
#[derive(Clone, Copy, Debug)]
pub struct ThreadWords(*mut Raw);

// SAFETY: only an address; whoever uses it answers for the thread.
unsafe impl Send for ThreadWords {}

impl ThreadWords {
    /// Those of the calling thread.
    pub fn own() -> Self {
        Self(words().0)
    }

    /// As [`forget_thread`] in that thread, which passes no probe now.
    ///
    /// # Safety
    /// The thread has not ended.
    pub unsafe fn forget(self) {
        // SAFETY: the caller says that the thread's words are there.
        let cursor = unsafe { &raw mut (*self.0).cursor };
        // SAFETY: a word of that size; its thread writes it only in a passage.
        unsafe { AtomicPtr::from_ptr(cursor) }.store(std::ptr::null_mut(), Ordering::Release);
    }
}
