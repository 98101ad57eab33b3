//! State of a monitored thread between its MPI calls.
#![allow(unsafe_code, reason = "thread-local state behind a raw pointer")]

mod sampler;
pub(crate) mod tls;

use crate::communicators::Recent;
use crate::datatypes::Sizes;
use crate::library::MpiLibrary;
use crate::monitoring;
use crate::pause::Wait;
use crate::polls::Polls;
use crate::receives::Receives;
use events::CallRecord;
use ring::clock;
use ring::{RingCursor, ThreadWriter};
use sampler::Sampler;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};

pub(crate) use sampler::{clock_ns, make_room_for_files};

/// State of a monitored thread. Only that thread accesses it.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Stack pointer of the monitored call in progress, 0 outside: calls made deeper on the stack come from
    /// inside it and are not counted. A call that was left by `longjmp` or by a C++ exception never ends;
    /// the next call that is not deeper takes its place.
    pub(crate) outer_stack: u64,
    /// Whether records are written.
    pub(crate) traced: bool,
    /// Writer of counters and records.
    pub(crate) writer: ThreadWriter,
    /// Call site of the previous call.
    pub(crate) previous: u64,
    /// Ticks when the previous call returned.
    pub(crate) last_exit: u64,
    /// The MPI library.
    pub(crate) library: MpiLibrary,
    /// Cache of datatype sizes.
    pub(crate) sizes: Sizes,
    /// Cache of communicators.
    pub(crate) communicators: Recent,
    /// Samples of processor time.
    pub(crate) sampler: Sampler,
    /// Requests that the call in progress may complete (traced runs).
    pub(crate) pending: PendingRequests,
    /// Receives that the thread has posted.
    pub(crate) receives: Receives,
    /// Waits of the thread in MPI.
    pub(crate) wait: Wait,
    /// Polls of the thread.
    pub(crate) polls: Polls,
    /// Words through which the thread and the probes in functions find this state.
    words: Option<StateWords>,
    /// Next thread in the list of known threads.
    next: *mut Thread,
}

/// Words of a thread that point to its state.
#[derive(Clone, Copy, Debug)]
struct StateWords {
    own: *mut tls::Words,
    of_probes: instrument::ThreadWords,
}

/// Marks a thread that was refused for lack of room.
const REFUSED: *mut Thread = std::ptr::without_provenance_mut(1);
/// Marks a thread that is attaching: functions called meanwhile may have probes.
const ATTACHING: *mut Thread = std::ptr::without_provenance_mut(2);
/// Marks the control thread.
const CONTROL_THREAD: *mut Thread = std::ptr::without_provenance_mut(3);

/// Returns whether the pointer is a thread's state, neither null nor one of the marks.
#[inline(always)]
pub(crate) fn is_watched(thread: *mut Thread) -> bool {
    CONTROL_THREAD.addr() < thread.addr()
}

/// Marks the calling thread as the control thread: its passages are not the program's.
pub(crate) fn mark_control_thread() {
    set(CONTROL_THREAD);
}

/// Returns whether the calling thread is the control thread.
pub(crate) fn is_control_thread() -> bool {
    attached() == CONTROL_THREAD
}

/// Requests noted before a call that completes them; those beyond the capacity are omitted.
#[derive(Debug)]
pub(crate) struct PendingRequests {
    /// Number of requests noted.
    pub(crate) n_requests: usize,
    /// Handles of the requests.
    pub(crate) requests: [u64; 256],
}

/// Monitored threads of a program that was attached to.
static THREADS: ThreadList =
    ThreadList { is_taken: AtomicBool::new(false), first: AtomicPtr::new(null_mut()) };

/// Monitored threads: those that call MPI, and those with probes in their functions.
static N_CALLERS: AtomicU32 = AtomicU32::new(0);

/// Number of threads that may call MPI.
pub(crate) fn n_callers() -> u32 {
    N_CALLERS.load(Ordering::Relaxed)
}

static THREAD_END: AtomicU32 = AtomicU32::new(0);
static HAS_THREAD_END: AtomicBool = AtomicBool::new(false);

/// Registers for the end of monitored threads; returns whether that succeeded.
///
/// Call it early: the first 32 keys of a process have their place in each thread, later ones are allocated.
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
    // A signal handler that interrupts this thread must not attach it meanwhile.
    set(ATTACHING);
    instrument::forget_thread();
    THREADS.remove(thread.cast());
    N_CALLERS.fetch_sub(1, Ordering::Relaxed);
    // Calls later in the thread's exit attach it again, with a new block.
    leave();
    if let (Some(thread), true) = (NonNull::new(thread.cast::<Thread>()), monitoring::is_running())
    {
        // SAFETY: the pointer that `attach` stored; no other thread has it any more.
        unsafe { give_back(thread) };
    }
}

/// Starts monitoring the calling thread; returns null if it is not to be monitored (or not yet).
///
/// Does not use the program's allocator: a probe may be anywhere, even inside it.
#[cold]
#[inline(never)]
pub(crate) fn attach() -> *mut Thread {
    if !attached().is_null() || !monitoring::is_running() {
        return null_mut();
    }
    set(ATTACHING);
    // A refused thread is counted, and does not try again at every call.
    let thread = make().map_or(REFUSED, NonNull::as_ptr);
    if !is_watched(thread) {
        set(thread);
        return null_mut();
    }
    if monitoring::is_attached() {
        THREADS.add(thread);
    }
    set(thread);
    if HAS_THREAD_END.load(Ordering::Acquire) {
        // SAFETY: our own key.
        unsafe { libc::pthread_setspecific(THREAD_END.load(Ordering::Relaxed), thread.cast()) };
    }
    N_CALLERS.fetch_add(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if monitoring::is_running() {
        return thread;
    }
    // Monitoring ended meanwhile, before or after this thread was added to the list.
    THREADS.remove(thread);
    N_CALLERS.fetch_sub(1, Ordering::Relaxed);
    set(null_mut());
    instrument::forget_thread();
    null_mut()
}

/// Returns the calling thread's ring cursor, for probes in functions; null if the thread is not monitored.
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

/// Appends a record to the calling thread's ring; returns false if it has no ring, or no room in it.
pub(crate) fn append(record: &CallRecord) -> bool {
    let cursor = cursor();
    // SAFETY: a thread that has a cursor is monitored; its own state.
    !cursor.is_null() && unsafe { &mut *attached() }.writer.append(record)
}

/// Counts a record of the calling thread that was dropped.
pub(crate) fn drop_record() {
    let thread = attached();
    if is_watched(thread) {
        // SAFETY: the calling thread's own state.
        unsafe { &*thread }.writer.drop_record();
    }
}

/// Kernel thread id of the calling thread.
pub(crate) fn tid() -> u32 {
    // SAFETY: a system call without arguments.
    unsafe { libc::gettid() }.cast_unsigned()
}

fn make() -> Option<NonNull<Thread>> {
    let tid = tid();
    let place = ring::private::bytes(size_of::<Thread>())?.cast::<Thread>();
    let Some((writer, library, is_traced)) = monitoring::attach_thread(tid) else {
        // SAFETY: made above, and nothing is in it.
        unsafe { ring::private::free(place.cast(), size_of::<Thread>()) };
        return None;
    };
    let words = Some(StateWords { own: tls::words(), of_probes: instrument::ThreadWords::own() });
    let traced = is_traced && writer.has_ring();
    let thread = Thread { traced, words, sampler: Sampler::start(), ..new(writer, library) };
    // SAFETY: fresh pages, large enough, aligned to a page.
    unsafe { place.write(thread) };
    Some(place)
}

/// Returns a thread's block and frees its memory.
///
/// # Safety
/// `thread` comes from [`make`], and nothing else refers to it.
unsafe fn give_back(thread: NonNull<Thread>) {
    // SAFETY: moved out of its place, which is not read again.
    let mut state = unsafe { thread.read() };
    state.sampler.end();
    state.writer.detach();
    // SAFETY: made by `make` with this length.
    unsafe { ring::private::free(thread.cast(), size_of::<Thread>()) };
}

/// Creates the state of a thread that starts now.
pub(crate) fn new(writer: ThreadWriter, library: MpiLibrary) -> Thread {
    Thread {
        outer_stack: 0,
        traced: writer.has_ring(),
        writer,
        previous: 0,
        last_exit: clock::ticks(),
        library,
        sizes: Sizes::default(),
        communicators: Recent::default(),
        sampler: Sampler::off(),
        pending: PendingRequests { n_requests: 0, requests: [0; 256] },
        receives: Receives::new(),
        wait: Wait::default(),
        polls: Polls::default(),
        words: None,
        next: null_mut(),
    }
}

fn set(thread: *mut Thread) {
    // SAFETY: the calling thread's own words.
    unsafe { (*tls::words()).thread = thread };
}

/// Ends the samples of the calling thread.
pub(crate) fn stop_sampling() {
    let thread = attached();
    if is_watched(thread) {
        // SAFETY: the calling thread's own state.
        unsafe { &mut *thread }.sampler.end();
    }
}

/// Stops monitoring the calling thread.
pub(crate) fn leave() {
    set(null_mut());
}

/// State of the calling thread: null, one of the marks, or a pointer to the state.
pub(crate) fn attached() -> *mut Thread {
    // SAFETY: the calling thread's own words.
    unsafe { (*tls::words()).thread }
}

/// Takes the state away from all threads, so that none of them writes from its next call on. A thread in a
/// call keeps using its state until the call ends; the state is never freed here.
pub(crate) fn forget_all() {
    THREADS.clear();
}

/// Forgets the other threads, in a forked child, which has the calling thread only.
pub(crate) fn forget_others() {
    THREADS.first.store(null_mut(), Ordering::Release);
    THREADS.is_taken.store(false, Ordering::Release);
}

/// List of threads. Its lock is held for a few instructions only, by threads that cannot enter twice through
/// a signal handler of the program, since their state is `ATTACHING` meanwhile.
struct ThreadList {
    is_taken: AtomicBool,
    first: AtomicPtr<Thread>,
}

impl ThreadList {
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
            // SAFETY: the calling thread's own state, not yet in the list.
            unsafe { (*thread).next = first.load(Ordering::Relaxed) };
            first.store(thread, Ordering::Relaxed);
        });
    }

    fn remove(&self, thread: *mut Thread) {
        self.locked(|first| {
            let mut place = first.as_ptr();
            loop {
                // SAFETY: the first place, or that of a thread still in the list: no thread is freed before
                // it was removed.
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
                if let Some(words) = known.words {
                    words.forget(thread);
                }
                thread = known.next;
            }
        });
    }
}

impl StateWords {
    /// Clears the words that point to `thread`. That thread may be in a call, but is not in a probe.
    fn forget(self, thread: *mut Thread) {
        // SAFETY: the words of a thread that did not end.
        let word = unsafe { &raw mut (*self.own).thread };
        // SAFETY: as above; the thread itself writes it only when it attaches and leaves.
        let word = unsafe { AtomicPtr::from_ptr(word) };
        let _other = word.compare_exchange(thread, null_mut(), Ordering::SeqCst, Ordering::Relaxed);
        // SAFETY: a thread that did not end.
        unsafe { self.of_probes.forget() };
    }
}
