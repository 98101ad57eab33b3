//! The library's own (control) thread in the program's process, and futex waits.
//!
//! # Invariants
//! - The program's signals are delivered to the program's threads: the control thread blocks all but those
//!   that its own mistakes would raise, and those used to install probes.
#![allow(unsafe_code, reason = "makes a thread")]

use crate::thread;
use ring::futex;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Stack size; enough for decoding orders and instructions, most of it is never touched.
const STACK_BYTES: usize = 512 * 1024;

type Life = Box<dyn FnOnce() + Send>;

/// Starts a detached thread named `sintonia`.
///
/// # Errors
/// With the system's error number; `life` is dropped then.
pub(crate) fn start_with(life: Life) -> Result<(), c_int> {
    let life = Box::into_raw(Box::new(life));
    let result = start(run, life.cast());
    if result.is_err() {
        // SAFETY: made above, and no thread has it.
        drop(unsafe { Box::from_raw(life) });
    }
    result
}

/// Starts a thread without allocating in the calling thread beyond what the system's library does.
pub(crate) fn start(
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> Result<(), c_int> {
    let before = block_signals();
    let mut result = create(main, argument, STACK_BYTES);
    if result == libc::EINVAL {
        // Thread-local variables of the program may need a larger stack.
        result = create(main, argument, 0);
    }
    // SAFETY: the mask that was there before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut()) };
    if result == 0 { Ok(()) } else { Err(result) }
}

fn create(
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    stack_bytes: usize,
) -> c_int {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::zeroed();
    let attributes = attributes.as_mut_ptr();
    // SAFETY: fills the attributes.
    unsafe { libc::pthread_attr_init(attributes) };
    // SAFETY: they are filled.
    unsafe { libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED) };
    if stack_bytes != 0 {
        // SAFETY: as above.
        unsafe { libc::pthread_attr_setstacksize(attributes, stack_bytes) };
    }
    let mut id = 0;
    // SAFETY: `main` matches the type of a thread's function, `argument` is its own.
    let result = unsafe { libc::pthread_create(&raw mut id, attributes, main, argument) };
    // SAFETY: filled above.
    unsafe { libc::pthread_attr_destroy(attributes) };
    result
}

extern "C" fn run(life: *mut c_void) -> *mut c_void {
    // SAFETY: `start_with` hands over this pointer.
    let life = unsafe { Box::from_raw(life.cast::<Life>()) };
    name_and_mark();
    let _nothing = std::panic::catch_unwind(std::panic::AssertUnwindSafe(*life));
    null_mut()
}

/// Names the calling thread and marks it as the library's own.
pub(crate) fn name_and_mark() {
    thread::mark_control_thread();
    // SAFETY: a name of fewer than 16 bytes for the calling thread.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"sintonia".as_ptr()) };
}

/// Blocks signals in the calling thread, for a new thread that inherits its mask; returns the previous mask.
fn block_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: fills the set.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    // SAFETY: filled above.
    let mut set = unsafe { set.assume_init() };
    let kept =
        [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
    for signal in kept {
        // SAFETY: the set is ours.
        unsafe { libc::sigdelset(&raw mut set, signal) };
    }
    let mut before = set;
    // SAFETY: both sets are ours.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, &raw mut before) };
    before
}

/// Waits while `word` is `value`, for at most `at_most`.
pub(crate) fn wait_while(word: &AtomicU32, value: u32, at_most: Duration) {
    let begin = Instant::now();
    while word.load(Ordering::Acquire) == value {
        let left = at_most.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return;
        }
        futex::wait(word, value, left);
    }
}
