//! What a watched thread keeps between its MPI calls.
#![allow(unsafe_code, reason = "thread-local state behind a raw pointer")]

use crate::communicators::Recent;
use crate::datatypes::Sizes;
use crate::library::Facts;
use crate::{probes, process, tls};
use events::CallRecord;
use ring::clock;
use ring::{RingCursor, ThreadWriter};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};

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
    /// Where its thread and the probes in functions find it.
    places: Option<Places>,
    /// The next one known to who leaves the program.
    next: *mut Thread,
}

/// Words of a thread that lead to its state.
#[derive(Clone, Copy, Debug)]
struct Places {
    own: *mut tls::Words,
    of_probes: instrument::ThreadWords,
}

/// In place of a thread that found no room.
const REFUSED: *mut Thread = std::ptr::without_provenance_mut(1);
/// In place of a thread that is just taking its block: what it calls for that may have probes.
const ATTACHING: *mut Thread = std::ptr::without_provenance_mut(2);
/// In place of our own thread.
const OURS: *mut Thread = std::ptr::without_provenance_mut(3);

/// Whether this is a thread, and not null or one of the values in place of one.
#[inline(always)]
pub(crate) fn is_watched(thread: *mut Thread) -> bool {
    OURS.addr() < thread.addr()
}

/// Says that the calling thread is ours: what it passes is not the program's doing.
pub(crate) fn set_own() {
    set(OURS);
}

/// Whether the calling thread is ours.
pub(crate) fn is_own() -> bool {
    attached() == OURS
}

/// Requests noted before a call that completes them; those beyond the room are left out.
#[derive(Debug)]
pub(crate) struct Pending {
    /// How many are noted.
    pub(crate) n_requests: usize,
    /// Their handles.
    pub(crate) requests: [u64; 256],
}

/// The watched threads of a program that was attached to.
static KNOWN: Known = Known { is_taken: AtomicBool::new(false), first: AtomicPtr::new(null_mut()) };

static THREAD_END: AtomicU32 = AtomicU32::new(0);
static HAS_THREAD_END: AtomicBool = AtomicBool::new(false);

/// Asks to be told when a watched thread ends; whether that can be.
///
/// Early: the first 32 keys of a process have their room in each thread, later ones are allocated.
pub(crate) fn watch_ends() -> bool {
    if HAS_THREAD_END.load(Ordering::Acquire) {
        return true;
    }
    let mut key = 0;
    // SAFETY: makes a key; `end_of_thread` matches the type of a destructor.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(end_of_thread)) };
    if made == 0 {
        THREAD_END.store(key, Ordering::Relaxed);
        HAS_THREAD_END.store(true, Ordering::Release);
    }
    made == 0
}

unsafe extern "C" fn end_of_thread(thread: *mut c_void) {
    // Whoever interrupts us takes no block meanwhile.
    set(ATTACHING);
    probes::forget_thread();
    KNOWN.remove(thread.cast());
    // What is still passed on this thread's last way takes a block anew.
    leave();
    if let (Some(thread), true) = (NonNull::new(thread.cast::<Thread>()), process::is_running()) {
        // SAFETY: the pointer that `attach` stored; nobody else has it any more.
        unsafe { give_back(thread) };
    }
}

/// Starts watching the calling thread; null when it is not to be watched (or not yet).
///
/// Without the program's allocator: a probe may be anywhere, also inside it.
#[cold]
#[inline(never)]
pub(crate) fn attach() -> *mut Thread {
    if !attached().is_null() || !process::is_running() {
        return null_mut();
    }
    set(ATTACHING);
    // Refused is counted; the attempt is not repeated at every call.
    let thread = make().map_or(REFUSED, NonNull::as_ptr);
    if !is_watched(thread) {
        set(thread);
        return null_mut();
    }
    if process::is_attached() {
        KNOWN.add(thread);
    }
    set(thread);
    if HAS_THREAD_END.load(Ordering::Acquire) {
        // SAFETY: our own key.
        unsafe { libc::pthread_setspecific(THREAD_END.load(Ordering::Relaxed), thread.cast()) };
    }
    fence(Ordering::SeqCst);
    if process::is_running() {
        return thread;
    }
    // Somebody left meanwhile, before or after this thread became known.
    KNOWN.remove(thread);
    set(null_mut());
    probes::forget_thread();
    null_mut()
}

/// Where the calling thread's records go, for probes in functions: null when it is not watched.
pub(crate) extern "C" fn cursor() -> *mut RingCursor {
    let mut thread = attached();
    if thread.is_null() {
        thread = attach();
    }
    if !is_watched(thread) {
        return null_mut();
    }
    // SAFETY: the calling thread's own state; it stays in place as long as the thread lives.
    unsafe { (*thread).writer.cursor() }
}

/// Appends a record to the calling thread's ring; false when it has none, or no room in it.
pub(crate) fn append(record: &CallRecord) -> bool {
    let cursor = cursor();
    // SAFETY: a thread that has a cursor is watched; its own state.
    !cursor.is_null() && unsafe { &mut *attached() }.writer.append(record)
}

/// Counts a record of the calling thread that was given up.
pub(crate) fn drop_record() {
    let thread = attached();
    if is_watched(thread) {
        // SAFETY: the calling thread's own state.
        unsafe { &*thread }.writer.drop_record();
    }
}

fn make() -> Option<NonNull<Thread>> {
    // SAFETY: a system call without arguments.
    let tid = unsafe { libc::gettid() }.cast_unsigned();
    let place = ring::private::bytes(size_of::<Thread>())?.cast::<Thread>();
    let Some((writer, facts, is_traced)) = process::attach_thread(tid) else {
        // SAFETY: made above, and nothing is in it.
        unsafe { ring::private::free(place.cast(), size_of::<Thread>()) };
        return None;
    };
    let places = Some(Places { own: tls::words(), of_probes: instrument::ThreadWords::own() });
    let traced = is_traced && writer.has_ring();
    let thread = Thread { traced, places, ..new(writer, facts) };
    // SAFETY: fresh pages, large enough, aligned to a page.
    unsafe { place.write(thread) };
    Some(place)
}

/// Gives a thread's block and memory back.
///
/// # Safety
/// It comes from [`make`], and nobody else has it.
unsafe fn give_back(thread: NonNull<Thread>) {
    // SAFETY: moved out of its place, which is not looked at again.
    let state = unsafe { thread.read() };
    state.writer.detach();
    // SAFETY: made by `make` with this length.
    unsafe { ring::private::free(thread.cast(), size_of::<Thread>()) };
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
        places: None,
        next: null_mut(),
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

/// Takes their state from all threads, so that none of them writes from its next call on. One that is in a
/// call keeps it until then; it is never freed here.
pub(crate) fn forget_all() {
    KNOWN.clear();
}

/// In a child of a fork, which has the calling thread only.
pub(crate) fn forget_others() {
    KNOWN.first.store(null_mut(), Ordering::Release);
    KNOWN.is_taken.store(false, Ordering::Release);
}

/// A list of threads. Its lock is held for a few instructions, by threads that no handler of the program lets
/// come here twice: their state is `ATTACHING` then.
struct Known {
    is_taken: AtomicBool,
    first: AtomicPtr<Thread>,
}

impl Known {
    fn locked<T>(&self, act: impl FnOnce(&AtomicPtr<Thread>) -> T) -> T {
        while self.is_taken.swap(true, Ordering::Acquire) {
            // SAFETY: a system call without arguments.
            unsafe { libc::sched_yield() };
        }
        let result = act(&self.first);
        self.is_taken.store(false, Ordering::Release);
        result
    }

    fn add(&self, thread: *mut Thread) {
        self.locked(|first| {
            // SAFETY: the calling thread's own state, not yet known to anybody.
            unsafe { (*thread).next = first.load(Ordering::Relaxed) };
            first.store(thread, Ordering::Relaxed);
        });
    }

    fn remove(&self, thread: *mut Thread) {
        self.locked(|first| {
            let mut place = first.as_ptr();
            loop {
                // SAFETY: the first place, or that of a thread that is still known: none is freed before it
                // was removed.
                let next = unsafe { *place };
                if next.is_null() {
                    return;
                }
                // SAFETY: as above.
                let after = unsafe { &raw mut (*next).next };
                if next == thread {
                    // SAFETY: as above.
                    let after = unsafe { *after };
                    // SAFETY: as above; the lock is held.
                    unsafe { *place = after };
                    return;
                }
                place = after;
            }
        });
    }

    fn clear(&self) {
        self.locked(|first| {
            let mut thread = first.swap(null_mut(), Ordering::Relaxed);
            while !thread.is_null() {
                // SAFETY: a thread that did not end: it would have removed itself.
                let known = unsafe { &*thread };
                if let Some(places) = known.places {
                    places.forget(thread);
                }
                thread = known.next;
            }
        });
    }
}

impl Places {
    /// Takes `thread` from where it is found. Its thread may be in a call, and is in no probe.
    fn forget(self, thread: *mut Thread) {
        // SAFETY: the words of a thread that did not end.
        let word = unsafe { &raw mut (*self.own).thread };
        // SAFETY: as above; the thread itself writes it only where it takes and gives back its state.
        let word = unsafe { AtomicPtr::from_ptr(word) };
        let _other = word.compare_exchange(thread, null_mut(), Ordering::SeqCst, Ordering::Relaxed);
        // SAFETY: a thread that did not end.
        unsafe { self.of_probes.forget() };
    }
}
