//! Shadow of all stacks, addressed by stack slot, that stores hijacked return addresses.
//!
//! A directory at a fixed address has a word for every 16 MiB of address space; the word points to a chunk of 32 MiB
//! of virtual memory, of which only touched pages exist: `[return address, context]` for every 8 bytes of stack.
//! Nothing is per thread, so `longjmp`, exceptions, coroutines and ending threads leave nothing to repair.
#![allow(unsafe_code, reason = "reads memory at a fixed address")]

use crate::context::Context;
use crate::near::{READ_WRITE, map, unmap};
use crate::site::StartError;
use crate::thread::Errno;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Address of the directory: far from everything that the system maps, and fixed in the unwind information.
pub(crate) const DIRECTORY: usize = 0x6d00_0000_0000;
const DIRECTORY_BYTES: usize = 64 << 20;
const CHUNK_BYTES: usize = 32 << 20;
const CHUNK_SHIFT: u32 = 24;
const LAZY: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Maps the directory.
pub(crate) fn start() -> Result<(), StartError> {
    map(DIRECTORY, DIRECTORY_BYTES, READ_WRITE, LAZY | libc::MAP_FIXED_NOREPLACE, None)
        .map(drop)
        .map_err(|errno| StartError::System { call: "mmap of the shadow directory", errno })
}

/// Maps the chunk for the part of a stack that contains `slot`; returns 0 if the system has no memory.
pub(crate) extern "C" fn add_chunk(_context: *const Context, slot: usize) -> usize {
    let errno = Errno::keep();
    let Ok(place) = map(0, CHUNK_BYTES, READ_WRITE, LAZY, None) else { return errno.give_back(0) };
    let known = directory(slot).compare_exchange(0, place, Ordering::AcqRel, Ordering::Acquire);
    if known.is_err() {
        unmap(place, CHUNK_BYTES);
    }
    errno.give_back(1)
}

/// Returns the context whose function returns through `slot`.
pub(crate) fn context_at(slot: usize) -> Option<&'static Context> {
    let chunk = directory(slot).load(Ordering::Acquire);
    if chunk == 0 {
        return None;
    }
    let place = chunk + 2 * (slot & ((1 << CHUNK_SHIFT) - 1)) + size_of::<usize>();
    let place = std::ptr::with_exposed_provenance::<*const Context>(place);
    // SAFETY: inside the chunk, which is never unmapped.
    let context = unsafe { place.read() };
    // SAFETY: null, or a context, which are never freed.
    unsafe { context.as_ref() }
}

fn directory(slot: usize) -> &'static AtomicUsize {
    let place = DIRECTORY + size_of::<usize>() * (slot >> CHUNK_SHIFT);
    let place = std::ptr::with_exposed_provenance_mut(place);
    // SAFETY: inside the directory for every address of 47 bits; mapped before the first probe, for good.
    unsafe { AtomicUsize::from_ptr(place) }
}
