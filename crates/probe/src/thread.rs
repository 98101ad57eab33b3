//! What a watched thread keeps between its MPI calls.
#![allow(unsafe_code, reason = "thread-local state behind a raw pointer")]

use crate::communicators::Recent;
use crate::datatypes::Sizes;
use crate::library::Facts;
use crate::{process, tls};
use ring::ThreadWriter;
use ring::clock;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A watched thread. Only that thread touches it.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Stack pointer of the watched call in progress, 0 outside: calls made deeper on the stack come
    /// from inside it and are not counted. A call that was left by `longjmp` or by a C++ exception
    /// never ends; the next one that is not deeper takes its place.
    pub(crate) outer_stack: u64,
    /// Records are written.
    pub(crate) traced: bool,
    /// Where counters and records go.
    pub(crate) writer: ThreadWriter,
    /// Call site of the call before.
    pub(crate) previous: u64,
    /// Ticks when it returned.
    pub(crate) last_exit: u64,
    /// The library's facts.
    pub(crate) facts: Facts,
    /// Datatypes met.
    pub(crate) sizes: Sizes,
    /// Communicators met.
    pub(crate) communicators: Recent,
    /// Requests that the call in progress may complete (traced runs).
    pub(crate) pending: Pending,
}

/// In place of a thread that found no room.
const REFUSED: *mut Thread = std::ptr::without_provenance_mut(1);

/// Whether this is a thread, and not null or `REFUSED`.
#[inline(always)]
pub(crate) fn is_watched(thread: *mut Thread) -> bool {
    REFUSED.addr() < thread.addr()
}

/// Requests noted before a call that completes them; those beyond the room are left out.
#[derive(Debug)]
pub(crate) struct Pending {
    /// How many are noted.
    pub(crate) n_requests: usize,
    /// Their handles.
    pub(crate) requests: [u64; 256],
}

static THREAD_END: AtomicU32 = AtomicU32::new(0);
static HAS_THREAD_END: AtomicBool = AtomicBool::new(false);

/// Asks to be told when a watched thread ends.
pub(crate) fn watch_ends() {
    let mut key = 0;
    // SAFETY: makes a key; `end_of_thread` matches the type of a destructor.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(end_of_thread)) };
    if made == 0 {
        THREAD_END.store(key, Ordering::Relaxed);
        HAS_THREAD_END.store(true, Ordering::Release);
    }
}

unsafe extern "C" fn end_of_thread(thread: *mut c_void) {
    leave();
    if process::is_running() && !thread.is_null() {
        // SAFETY: the pointer that `attach` stored: a boxed `Thread` that nobody else has.
        let thread = unsafe { Box::from_raw(thread.cast::<Thread>()) };
        thread.writer.detach();
    }
}

/// Starts watching the calling thread; null when it is not to be watched (or not yet).
#[cold]
#[inline(never)]
pub(crate) fn attach() -> *mut Thread {
    if attached() == REFUSED || !process::is_running() {
        return null_mut();
    }
    // SAFETY: a system call without arguments.
    let tid = unsafe { libc::gettid() }.cast_unsigned();
    let Some((writer, facts)) = process::attach_thread(tid) else {
        // Refused and counted; the attempt is not repeated at every call.
        set(REFUSED);
        return null_mut();
    };
    let thread = Box::into_raw(Box::new(new(writer, facts)));
    set(thread);
    if HAS_THREAD_END.load(Ordering::Acquire) {
        // SAFETY: our own key.
        unsafe { libc::pthread_setspecific(THREAD_END.load(Ordering::Relaxed), thread.cast()) };
    }
    thread
}

/// A thread that starts now.
pub(crate) fn new(writer: ThreadWriter, facts: Facts) -> Thread {
    Thread {
        outer_stack: 0,
        traced: writer.has_ring(),
        writer,
        previous: 0,
        last_exit: clock::ticks(),
        facts,
        sizes: Sizes::default(),
        communicators: Recent::default(),
        pending: Pending { n_requests: 0, requests: [0; 256] },
    }
}

fn set(thread: *mut Thread) {
    // SAFETY: the calling thread's own words.
    unsafe { (*tls::words()).thread = thread };
}

/// Stops watching the calling thread.
pub(crate) fn leave() {
    set(null_mut());
}

/// The calling thread's state: null, `REFUSED`, or a thread.
pub(crate) fn attached() -> *mut Thread {
    // SAFETY: the calling thread's own words.
    unsafe { (*tls::words()).thread }
}
