//! Failures between Rust and C: an error code, and a sentence on request.

use crate::abi::{MALLEABLE_FAILED, MALLEABLE_MISUSE};
use core::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the reason of the last failed call in this thread, as a sentence for the user; empty when none failed. Valid
/// until the next call fails.
#[unsafe(no_mangle)]
pub extern "C" fn malleable_message() -> *const c_char {
    c_interface::last_error()
}

pub(crate) fn misuse(text: &str) -> c_int {
    c_interface::set_last_error(text);
    MALLEABLE_MISUSE
}

/// Runs the body of a function that C calls: a panic becomes an error code.
pub(crate) fn guarded(body: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panicked| {
        let said = panicked.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panicked.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        c_interface::set_last_error(&format!("the library failed, please report it: {said}"));
        MALLEABLE_FAILED
    })
}
