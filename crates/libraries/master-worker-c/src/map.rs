//! A function applied to many items, from C.

use crate::abi::mw_bytes;
use crate::bytes::{Aligned, Blob};
use crate::callbacks::mw_function;
use crate::failure;
use crate::options::mw_options;
use crate::program::MasterFailure;
use crate::run::outcome;
use core::ffi::{c_int, c_void};
use master_worker::{Cancel, Iteration, Program};
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr;

/// Applies a function to every item of an array, on all ranks. Results are written in the order of the items, on the
/// master only, which `mw_is_master` identifies. Options may be null. Returns the same codes as `mw_run_with`.
///
/// # Safety
/// `items` holds `n_items` items, and `results` has room for as many results, of the sizes in `function`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_map(
    function: *const mw_function,
    items: *const c_void,
    n_items: usize,
    results: *mut c_void,
    options: *const mw_options,
) -> c_int {
    // SAFETY: by the condition of this function.
    let Some(function) = (unsafe { function.as_ref() }).filter(|it| it.function.is_some()) else {
        return failure::misuse("`mw_map` got no function");
    };
    let is_nowhere = |place: *const c_void, n_bytes| place.is_null() && n_bytes != 0;
    if n_items != 0
        && (is_nowhere(items, function.n_item_bytes)
            || is_nowhere(results, function.n_result_bytes))
    {
        return failure::misuse("`mw_map` got no items, or nowhere to write their results");
    }
    let usual = mw_options::default();
    // SAFETY: by the condition of this function.
    let options = unsafe { options.as_ref() }.unwrap_or(&usual);
    let function = *function;
    outcome(options, |failure, cancel| Map { function, items, n_items, results, failure, cancel })
}

#[derive(Clone)]
struct Map {
    function: mw_function,
    items: *const c_void,
    n_items: usize,
    results: *mut c_void,
    failure: MasterFailure,
    cancel: Cancel,
}

// SAFETY: items are read and results written by the master's thread only; the header says of the function that
// several threads call it.
unsafe impl Send for Map {}

impl Map {
    /// Applies the function to the items of a chunk.
    fn apply(&self, n_tasks: usize, input: &Blob) -> Result<Aligned, String> {
        let function = self.function.function.ok_or("there is no function")?;
        let items = input.as_bytes();
        let mut results = Aligned::default();
        let place = results.grow(self.function.n_result_bytes.saturating_mul(n_tasks));
        let place = place.ok_or("memory is short for the results of a chunk")?;
        if items.n_bytes != self.function.n_item_bytes.saturating_mul(n_tasks) {
            return Err("items have a different size on this rank than on the master".to_owned());
        }
        for task in 0..n_tasks {
            let item = items.data.wrapping_byte_add(task * self.function.n_item_bytes);
            let result = place.wrapping_byte_add(task * self.function.n_result_bytes);
            // SAFETY: both lie within the memory allocated above for `n_tasks` tasks.
            let code = unsafe { function(self.function.context, item, result.cast()) };
            failure::outcome("mw_map", code)?;
        }
        Ok(results)
    }
}

impl Program for Map {
    type Shared = ();
    type Input = Blob;
    type Output = Blob;

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        let is_first = iteration == 0 && self.n_items != 0;
        is_first.then(|| Iteration::new(self.n_items as u64, ()))
    }

    fn input(&self, tasks: Range<u64>) -> Blob {
        let (start, n_tasks) = (place(tasks.start), place(tasks.end - tasks.start));
        let n_item_bytes = self.function.n_item_bytes;
        let data = self.items.wrapping_byte_add(start * n_item_bytes);
        Blob::Lent(mw_bytes { data, n_bytes: n_tasks * n_item_bytes })
    }

    fn work(&self, (): &(), tasks: Range<u64>, input: Blob) -> Blob {
        match self.apply(place(tasks.end - tasks.start), &input) {
            Ok(results) => Blob::Own(results),
            // The library recognizes a failure by its panic; unlike `panic!`, this one prints nothing.
            Err(text) => resume_unwind(Box::new(text)),
        }
    }

    fn recover(&mut self, tasks: Range<u64>, output: Blob) {
        let n_result_bytes = self.function.n_result_bytes;
        let bytes = output.as_slice();
        if bytes.len() != place(tasks.end - tasks.start) * n_result_bytes {
            self.failure
                .keep("results have a different size on this rank than on a worker".to_owned());
            self.cancel.cancel();
            return;
        }
        let results = self.results.wrapping_byte_add(place(tasks.start) * n_result_bytes);
        // SAFETY: the caller of `mw_map` made room for the results of all items, and no message of the library lies
        // there.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), results.cast(), bytes.len()) };
    }
}

#[expect(clippy::cast_possible_truncation, reason = "tasks are places in an array")]
fn place(task: u64) -> usize {
    task as usize
}
