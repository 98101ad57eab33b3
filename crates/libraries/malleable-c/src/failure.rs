//! Failures between Rust and C: an error code, and a sentence on request.

use crate::abi::{MALLEABLE_FAILED, MALLEABLE_MISUSE};
use core::ffi::{c_char, c_int};
use std::cell::RefCell;
use std::error::Error;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the reason of the last failed call in this thread, as a sentence for the user; empty when none failed. Valid
/// until the next call fails.
#[unsafe(no_mangle)]
pub extern "C" fn malleable_message() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Sets the sentence.
pub(crate) fn say(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = text);
}

pub(crate) fn misuse(text: &str) -> c_int {
    say(text);
    MALLEABLE_MISUSE
}

/// Formats an error with all its causes.
pub(crate) fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Runs the body of a function that C calls: a panic becomes an error code.
pub(crate) fn guarded(body: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panicked| {
        let said = panicked.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panicked.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        say(&format!("the library failed, please report it: {said}"));
        MALLEABLE_FAILED
    })
}
