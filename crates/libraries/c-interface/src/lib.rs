//! Common part of the C interfaces of our libraries: arguments of `main`, and the sentence of the last error.

#![expect(unsafe_code, reason = "texts of C")]

use core::ffi::{CStr, c_char, c_int};
use std::cell::RefCell;
use std::error::Error;
use std::ffi::CString;
use std::{iter, ptr, slice};

/// Returns a text of C; an empty one for a null pointer.
///
/// # Safety
/// The text ends with a zero byte, or is null.
#[must_use]
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the condition of this function.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Removes arguments of `main`: `take` gets those after the program's name and returns those that stay, in their order.
///
/// # Safety
/// `argv` holds `*argc` texts that end with a zero byte, as `main` gets it; or one of both is null, and there are none.
pub unsafe fn take_arguments(
    argc: *mut c_int,
    argv: *mut *mut c_char,
    take: impl FnOnce(Vec<String>) -> Vec<String>,
) {
    // SAFETY: by the condition of this function.
    let Some(argc) = (unsafe { argc.as_mut() }).filter(|_| !argv.is_null()) else {
        take(Vec::new());
        return;
    };
    let n = usize::try_from(*argc).unwrap_or(0);
    // SAFETY: by the condition of this function.
    let places = unsafe { slice::from_raw_parts_mut(argv, n) };
    // SAFETY: by the condition of this function.
    let given: Vec<String> = places.iter().skip(1).map(|place| unsafe { text(*place) }).collect();
    let others = take(given.clone());
    *argc = c_int::try_from(keep(places, &given, &others)).unwrap_or(*argc);
}

/// Keeps the program's name and `others`, which are some of `given` in the same order; returns how many stay.
fn keep(places: &mut [*mut c_char], given: &[String], others: &[String]) -> usize {
    let mut others = others.iter().peekable();
    let mut n_kept = places.len().min(1);
    for (place, text) in given.iter().enumerate() {
        // Equal words are interchangeable.
        if others.next_if(|other| *other == text).is_some() {
            places.swap(n_kept, place + 1);
            n_kept += 1;
        }
    }
    if let Some(end) = places.get_mut(n_kept) {
        *end = ptr::null_mut();
    }
    n_kept
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Sets the sentence of the last error in this thread.
pub fn set_last_error(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = text);
}

/// Returns the sentence of the last error in this thread, valid until the next one; empty when there was none.
#[must_use]
pub fn last_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Formats an error with all its causes.
#[must_use]
pub fn sentence(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
