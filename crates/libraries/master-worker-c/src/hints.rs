//! Wishes of a C program for its tasks.

use crate::abi::{mw_hint, mw_tasks};
use core::ffi::c_void;
use master_worker::Hint;
use std::ops::Range;
use std::ptr;

/// Function that returns wishes for tasks; see `mw_plan`.
pub(crate) type Hints = unsafe extern "C" fn(*mut c_void, mw_tasks, *mut usize) -> *const mw_hint;

/// Wishes of the program for these tasks.
pub(crate) fn wishes(
    state: *mut c_void,
    hints: Option<Hints>,
    tasks: Range<u64>,
) -> impl Iterator<Item = Hint> {
    let mut n_hints = 0;
    let first = hints.map_or(ptr::null(), |hints| {
        // SAFETY: a function of the program with its state, as the header says.
        unsafe { hints(state, c_tasks(&tasks), &raw mut n_hints) }
    });
    let hints: &[mw_hint] = if first.is_null() {
        &[]
    } else {
        // SAFETY: the program states that there are so many, and keeps them until the next call.
        unsafe { std::slice::from_raw_parts(first, n_hints) }
    };
    hints.iter().map(|hint| {
        let wish = Hint::new(hint.tasks.start..hint.tasks.end).priority(hint.priority);
        if hint.near == 0 { wish } else { wish.near(hint.near) }
    })
}

pub(crate) fn c_tasks(tasks: &Range<u64>) -> mw_tasks {
    mw_tasks { start: tasks.start, end: tasks.end }
}
