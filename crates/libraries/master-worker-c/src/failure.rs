//! Failures between Rust and C: an error code, and a text on request.

use crate::abi::{
    MW_CANCELED, MW_CHECKPOINT, MW_COMMUNICATION, MW_MISUSE, MW_OPTIONS, MW_PROGRAM, MW_TASKS,
};
use core::ffi::{c_char, c_int};
use master_worker::Error;
use std::cell::RefCell;

thread_local! {
    /// Text that `mw_fail` was given.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

pub(crate) fn misuse(text: &str) -> c_int {
    c_interface::set_last_error(text);
    MW_MISUSE
}

/// Returns the reason of the last failed call in this thread, as a sentence for the user; empty when none
/// failed. Valid until the next call fails.
#[unsafe(no_mangle)]
pub extern "C" fn mw_last_error() -> *const c_char {
    c_interface::last_error()
}

/// Sets the reason why a function of the program fails: `return mw_fail("the table is empty");`. Returns -1.
///
/// # Safety
/// `text` is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_fail(text: *const c_char) -> c_int {
    // SAFETY: by the condition of this function.
    SAID.set((!text.is_null()).then(|| unsafe { c_interface::text(text) }));
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
