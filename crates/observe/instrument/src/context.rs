//! Data of a site for the machine code of a passage: one block of near memory, of fixed layout.
//!
//! # Invariants
//! - A block is never freed: a function that was entered before its probes were removed still returns through it.
//! - Switching is one store of `flags` or `routine`; every mixture of old and new values is sound.
#![allow(
    unsafe_code,
    reason = "names machine code, and follows the pointer set once, before the first passage"
)]

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::armed_callbacks::ArmedCallbacks;

/// The entry is recorded.
pub(crate) const ENTRY: u8 = 1;
/// The exit is recorded.
pub(crate) const EXIT: u8 = 2;
/// The return address is replaced, so that the exit is intercepted.
pub(crate) const HIJACK: u8 = 4;
/// Entries are counted.
pub(crate) const COUNT_ENTRY: u8 = 8;
/// Exits are counted.
pub(crate) const COUNT_EXIT: u8 = 16;
/// Actions are armed at the entry.
pub(crate) const ARMED_ENTRY: u8 = 32;
/// Actions are armed at the exit.
pub(crate) const ARMED_EXIT: u8 = 64;
/// Calls are redirected to another function.
pub(crate) const REPLACED: u8 = 128;

/// Bytes of the `pop rax` before the displaced instructions in a stub.
const RESUME_BYTES: usize = 1;

/// Point of a site, as read by the machine code.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct PointContext {
    /// Code that reads the attributes into the record; 0 without attributes.
    pub(crate) capture: AtomicUsize,
    /// Number of the event.
    pub(crate) event: AtomicU32,
    /// Number of records of one passage.
    pub(crate) n_records: AtomicU32,
    /// Number of passages so far, if they are counted.
    pub(crate) hits: AtomicU64,
}

/// Site, as read by the machine code.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Context {
    /// Address to which the stub jumps.
    pub(crate) routine: AtomicUsize,
    /// Flags of the work to be done at a passage.
    pub(crate) flags: AtomicU8,
    /// Entry of the function.
    pub(crate) entry: PointContext,
    /// Exit of the function.
    pub(crate) exit: PointContext,
    /// Like `exit.capture`, for an exit by a tail call, which has no return value yet.
    pub(crate) tail_capture: AtomicUsize,
    /// Address of the displaced instructions in the stub.
    pub(crate) displaced: AtomicUsize,
    /// Function to call instead; stays once set.
    pub(crate) replacement: AtomicUsize,
    /// Address of the site's `ArmedCallbacks`.
    pub(crate) actions: AtomicUsize,
}

impl Context {
    /// Sets the flags for the next passages.
    pub(crate) fn set(&self, flags: u8) {
        let hijack = if flags & (EXIT | COUNT_EXIT) == 0 { 0 } else { HIJACK };
        let flags = flags & !HIJACK | hijack;
        self.flags.store(flags, Ordering::Release);
        // The instruction before the displaced ones undoes the stub's push.
        let off = self.displaced.load(Ordering::Relaxed) - RESUME_BYTES;
        let routine = if flags == 0 { off } else { sintonia_passage as *const () as usize };
        self.routine.store(routine, Ordering::Release);
    }

    /// Sets or clears flags. The caller makes sure that no other thread does so.
    pub(crate) fn change(&self, flags: u8, on: bool) {
        let before = self.flags.load(Ordering::Relaxed);
        self.set(if on { before | flags } else { before & !flags });
    }

    /// Actions armed at this site.
    pub(crate) fn actions(&self) -> Option<&'static ArmedCallbacks> {
        let place = std::ptr::with_exposed_provenance::<ArmedCallbacks>(
            self.actions.load(Ordering::Acquire),
        );
        // SAFETY: null, or what `install` leaked for this site.
        unsafe { place.as_ref() }
    }
}

unsafe extern "C" {
    fn sintonia_passage();
    fn sintonia_thunk();
}

/// Address of the thunk that hijacked functions return to.
pub(crate) fn thunk() -> usize {
    sintonia_thunk as *const () as usize
}
