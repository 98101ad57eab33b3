//! Five words per thread, accessed without a function call (initial-exec TLS).
#![allow(unsafe_code, reason = "reads the thread pointer")]

use super::Thread;
use std::arch::{asm, global_asm};
use std::ffi::c_void;

global_asm!(
    ".pushsection .tbss.sintonia, \"awT\", @nobits",
    ".hidden sintonia_tls",
    ".globl sintonia_tls",
    ".type sintonia_tls, @object",
    ".size sintonia_tls, 40",
    ".p2align 3",
    "sintonia_tls:",
    ".zero 40",
    ".popsection",
);

/// Words of a thread.
#[repr(C)]
pub(crate) struct Words {
    /// Return address of the last wrapper entered.
    pub(crate) return_address: u64,
    /// Stack pointer at the entry of that wrapper.
    pub(crate) stack_pointer: u64,
    /// State of the thread; null before its first monitored call.
    pub(crate) thread: *mut Thread,
    /// Return address of a Fortran entry point that itself calls C; 0 outside.
    pub(crate) fortran_address: u64,
    /// Part of the OpenMP region in which the thread is; null outside.
    pub(crate) openmp_part: *mut c_void,
}

/// Returns the calling thread's words.
#[inline(always)]
pub(crate) fn words() -> *mut Words {
    let words: *mut Words;
    // SAFETY: reads the thread pointer and the offset of our symbol; on x86-64 the first word of the
    // thread control block is its own address.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + sintonia_tls@GOTTPOFF]",
            "add {words}, qword ptr fs:[0]",
            words = out(reg) words,
            options(pure, readonly, nostack),
        );
    }
    words
}
