//! Attaching to a running program: a tool stops one of its threads, makes it load this library and call
//! [`sintonia_attach`], and lets it continue.
//!
//! # Invariants
//! - The stopped thread may be anywhere: it only copies the options and creates the control thread.
//! - MPI is not called: rank and size of the process come from its environment.
#![allow(unsafe_code, reason = "exports a C function, keeps what it is given")]

use crate::options::Options;
use crate::{control, monitoring, next, process};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Longest options text, in bytes.
const TEXT_BYTES_MAX: usize = 8192;

/// Options, until the control thread has read them.
struct Text {
    bytes: UnsafeCell<[u8; TEXT_BYTES_MAX]>,
    len: AtomicUsize,
}

// SAFETY: written once, by the one caller that raised `IS_TAKEN`, before the only reader is started.
unsafe impl Sync for Text {}

static TEXT: Text = Text { bytes: UnsafeCell::new([0; TEXT_BYTES_MAX]), len: AtomicUsize::new(0) };
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Starts to monitor and tune this process. `options` has lines `NAME=value` in place of the environment
/// variables. Returns 0, or an error number: `EALREADY` when the process is monitored already, or its
/// monitoring ended in `MPI_Finalize`; `EINVAL` when there are no options or too many; or the error of
/// creating the thread.
///
/// # Safety
/// `options` is a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sintonia_attach(options: *const c_char) -> c_int {
    if options.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    let len = unsafe { libc::strnlen(options, TEXT_BYTES_MAX) };
    if len == TEXT_BYTES_MAX {
        return libc::EINVAL;
    }
    if monitoring::is_or_was_monitored() || IS_TAKEN.swap(true, Ordering::AcqRel) {
        return libc::EALREADY;
    }
    // SAFETY: `len` bytes of a C string, and room for more; the flag keeps others out.
    unsafe { std::ptr::copy_nonoverlapping(options.cast(), TEXT.bytes.get().cast::<u8>(), len) };
    TEXT.len.store(len, Ordering::Release);
    match control::start(live, null_mut()) {
        Ok(()) => 0,
        Err(errno) => {
            IS_TAKEN.store(false, Ordering::Release);
            errno
        }
    }
}

extern "C" fn live(_nothing: *mut c_void) -> *mut c_void {
    control::name_and_mark();
    let _nothing = std::panic::catch_unwind(|| {
        let len = TEXT.len.load(Ordering::Acquire);
        // SAFETY: written before this thread was started, and not again while it is.
        let text = unsafe { std::slice::from_raw_parts(TEXT.bytes.get().cast::<u8>(), len) };
        next::mark_loaded_last();
        if let Some(control) = Options::from_text(text).and_then(process::join) {
            control.listen_here();
        }
    });
    IS_TAKEN.store(false, Ordering::Release);
    null_mut()
}
