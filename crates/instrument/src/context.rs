//! What the machine code of a passage knows about its site: one block of near memory, of fixed layout.
//!
//! # Invariants
//! - A block is never freed: a function that was entered before its probes were taken out still returns through it.
//! - Switching is one store of `flags` or `routine`; all mixtures of old and new are sound.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::passage::Actions;

/// The entry makes a record.
pub(crate) const ENTRY: u8 = 1;
/// The exit makes a record.
pub(crate) const EXIT: u8 = 2;
/// The return address is exchanged, so that the exit is seen.
pub(crate) const HIJACK: u8 = 4;
/// Entries are counted.
pub(crate) const COUNT_ENTRY: u8 = 8;
/// Exits are counted.
pub(crate) const COUNT_EXIT: u8 = 16;
/// Actions wait at the entry.
pub(crate) const ARMED_ENTRY: u8 = 32;
/// Actions wait at the exit.
pub(crate) const ARMED_EXIT: u8 = 64;
/// Calls go to another function.
pub(crate) const REPLACED: u8 = 128;

/// Bytes of the `pop rax` before the displaced instructions in a stub.
const RESUME_BYTES: usize = 1;

/// A point of a site, as the machine code reads it.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct PointContext {
    /// Code that reads the attributes into the record; 0 without attributes.
    pub(crate) gather: AtomicUsize,
    /// Number of the event.
    pub(crate) event: AtomicU32,
    /// Records of one passage.
    pub(crate) n_records: AtomicU32,
    /// Passages so far, where they are counted.
    pub(crate) hits: AtomicU64,
}

/// A site, as the machine code reads it.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Context {
    /// Where the stub goes.
    pub(crate) routine: AtomicUsize,
    /// What there is to do.
    pub(crate) flags: AtomicU8,
    /// Its entry.
    pub(crate) entry: PointContext,
    /// Its exit.
    pub(crate) exit: PointContext,
    /// Like `exit.gather`, but nothing was returned yet.
    pub(crate) tail_gather: AtomicUsize,
    /// The displaced instructions, in the stub.
    pub(crate) inside: AtomicUsize,
    /// Where calls go instead; stays once set.
    pub(crate) replacement: AtomicUsize,
    /// The site's `Actions`.
    pub(crate) actions: AtomicUsize,
}

impl Context {
    /// Lets the next passages do what the flags say.
    pub(crate) fn set(&self, flags: u8) {
        let hijack = if flags & (EXIT | COUNT_EXIT) == 0 { 0 } else { HIJACK };
        let flags = flags & !HIJACK | hijack;
        self.flags.store(flags, Ordering::Release);
        // What is before the displaced instructions undoes what the stub did.
        let off = self.inside.load(Ordering::Relaxed) - RESUME_BYTES;
        let routine = if flags == 0 { off } else { crate::asm::routine() };
        self.routine.store(routine, Ordering::Release);
    }

    /// Adds and takes away flags. The caller sees to it that nobody else does.
    pub(crate) fn change(&self, flags: u8, on: bool) {
        let before = self.flags.load(Ordering::Relaxed);
        self.set(if on { before | flags } else { before & !flags });
    }

    /// The actions that wait here.
    #[allow(unsafe_code, reason = "follows the pointer set once, before the first passage")]
    pub(crate) fn actions(&self) -> Option<&'static Actions> {
        let place =
            std::ptr::with_exposed_provenance::<Actions>(self.actions.load(Ordering::Acquire));
        // SAFETY: null, or what `install` leaked for this site.
        unsafe { place.as_ref() }
    }
}
