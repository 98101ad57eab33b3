//! Failures between Rust and C: an error code, and a text on request.

use crate::abi::{
    MW_CANCELED, MW_CHECKPOINT, MW_COMMUNICATION, MW_MISUSE, MW_OPTIONS, MW_PROGRAM, MW_TASKS,
};
use core::ffi::{CStr, c_char, c_int};
use std::cell::RefCell;
use std::error::Error as _;
use std::ffi::CString;

use master_worker::Error;

thread_local! {
    /// Text that `mw_last_error` returns.
    static LAST: RefCell<CString> = RefCell::default();
    /// Text that `mw_fail` was given.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Sets what the next call of `mw_last_error` in this thread returns.
pub(crate) fn set_last(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = text);
}

pub(crate) fn last() -> String {
    LAST.with_borrow(|last| last.to_string_lossy().into_owned())
}

pub(crate) fn misuse(text: &str) -> c_int {
    set_last(text);
    MW_MISUSE
}

/// Returns the reason of the last failed call in this thread, as a sentence for the user; empty when none
/// failed. Valid until the next call fails.
#[unsafe(no_mangle)]
pub extern "C" fn mw_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Sets the reason why a function of the program fails: `return mw_fail("the table is empty");`. Returns -1.
///
/// # Safety
/// `text` is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_fail(text: *const c_char) -> c_int {
    // SAFETY: by the condition of this function.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    SAID.set(text.map(|text| text.to_string_lossy().into_owned()));
    -1
}

/// Returns the result of a function of the program: `Err` with a sentence when it failed.
pub(crate) fn outcome(function: &str, code: c_int) -> Result<(), String> {
    let said = SAID.take();
    if code == 0 {
        return Ok(());
    }
    Err(match said {
        Some(said) => format!("`{function}` failed: {said}"),
        None => format!("`{function}` returned {code}"),
    })
}

/// Formats an error with all its causes.
pub(crate) fn sentence(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Returns the code of an error.
pub(crate) fn code(error: &Error) -> c_int {
    match error {
        Error::Options(_) => MW_OPTIONS,
        Error::Checkpoint(_) => MW_CHECKPOINT,
        Error::Panicked { .. } => MW_TASKS,
        Error::Canceled { .. } => MW_CANCELED,
        Error::Program(_) | Error::NothingShared { .. } => MW_PROGRAM,
        _ => MW_COMMUNICATION,
    }
}
