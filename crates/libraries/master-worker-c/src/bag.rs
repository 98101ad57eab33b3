//! Tasks that make tasks, from C.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use crate::abi::MW_OK;
use crate::bytes::Aligned;
use crate::failure;
use crate::options::mw_options;
use crate::run::with_results;
use core::ffi::{c_int, c_void};
use master_worker::Bag;
use std::panic::resume_unwind;

/// Tasks that a task makes; see `mw_bag_add`.
pub struct mw_bag {
    made: Vec<(Vec<u8>, i32)>,
    n_task_bytes: usize,
}

/// Function applied to tasks that make tasks; see `mw_run_bag`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_bag_function {
    /// Computes a result of `n_result_bytes` from a task, and adds further tasks with `mw_bag_add`; returns 0 on success.
    /// Several threads call it at the same time.
    pub function: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            task: *const c_void,
            bag: *mut mw_bag,
            result: *mut c_void,
        ) -> c_int,
    >,
    /// Master: takes the results, one after the other, once all tasks are done; returns 0 on success. Depth first: a
    /// task's own result, then those of the tasks that it added, so in the same order on any number of ranks.
    pub take: Option<unsafe extern "C" fn(context: *mut c_void, result: *const c_void) -> c_int>,
    /// First argument of the functions, on the rank on which they run.
    pub context: *mut c_void,
    /// Size of a task, in bytes.
    pub n_task_bytes: usize,
    /// Size of a result, in bytes.
    pub n_result_bytes: usize,
}

/// Adds a copy of this task to the bag. Of the tasks that wait, those of higher priority come first; 0 is usual. Returns 0,
/// or `MW_MISUSE` when a pointer is null.
///
/// # Safety
/// `bag` is that of the running function, and `task` is one of the size that it was told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_bag_add(bag: *mut mw_bag, task: *const c_void, priority: i32) -> c_int {
    // SAFETY: by the condition of this function.
    let Some(bag) = (unsafe { bag.as_mut() }) else {
        return failure::misuse("`mw_bag_add` got no bag");
    };
    if task.is_null() && bag.n_task_bytes != 0 {
        return failure::misuse("`mw_bag_add` got no task");
    }
    // SAFETY: by the condition of this function.
    let task = unsafe { bytes(task, bag.n_task_bytes) };
    bag.made.push((task.to_vec(), priority));
    MW_OK
}

/// Applies a function to tasks, and to those that it adds to its bag, on all ranks, until none is left. Results are taken on
/// the master only, which `mw_is_master` identifies. Options may be null. Returns the same codes as `mw_run_with`.
///
/// The master keeps a result of every task until the end: where only a sum is wanted, let a task do all that is small
/// itself.
///
/// # Safety
/// `tasks` holds `n_tasks` tasks of the size in `function`, whose functions do what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_run_bag(
    function: *const mw_bag_function,
    tasks: *const c_void,
    n_tasks: usize,
    options: *const mw_options,
) -> c_int {
    // SAFETY: by the condition of this function.
    let Some(function) = (unsafe { function.as_ref() }).filter(|it| it.function.is_some()) else {
        return failure::misuse("`mw_run_bag` got no function");
    };
    if tasks.is_null() && n_tasks != 0 && function.n_task_bytes != 0 {
        return failure::misuse("`mw_run_bag` got no tasks");
    }
    let usual = mw_options::default();
    // SAFETY: by the condition of this function.
    let options = unsafe { options.as_ref() }.unwrap_or(&usual);
    let first = (0..n_tasks).map(|at| {
        let task = tasks.wrapping_byte_add(at * function.n_task_bytes);
        // SAFETY: by the condition of this function.
        unsafe { bytes(task, function.n_task_bytes) }.to_vec()
    });
    let (first, function) = (first.collect(), Function(*function));
    let call = function.clone();
    with_results(
        options,
        |options| master_worker::bag(first, options, move |task, bag| call.call(&task, bag)),
        |results: Vec<Vec<u8>>| results.iter().try_for_each(|result| function.take(result)),
    )
}

/// Functions and context of C.
#[derive(Clone)]
struct Function(mw_bag_function);

// SAFETY: the caller that gives functions and a context to a run lets it call them from other threads, as the header says.
unsafe impl Send for Function {}

impl Function {
    fn call(&self, task: &[u8], bag: &mut Bag<Vec<u8>>) -> Vec<u8> {
        let Some(function) = self.0.function else { return Vec::new() };
        let (task, n_result_bytes) = (Aligned::from(task), self.0.n_result_bytes);
        let mut result = Aligned::default();
        let Some(place) = result.grow(n_result_bytes) else {
            resume_unwind(Box::new("there is no memory for a result".to_owned()));
        };
        let mut made = mw_bag { made: Vec::new(), n_task_bytes: self.0.n_task_bytes };
        let task = task.as_slice().as_ptr().cast();
        // SAFETY: a function of the program, as the header says; its arguments stay for the call.
        let code = unsafe { function(self.0.context, task, &raw mut made, place.cast()) };
        if let Err(text) = failure::outcome("mw_run_bag", code) {
            // The library recognizes a failure by its panic; unlike `panic!`, this one prints nothing.
            resume_unwind(Box::new(text));
        }
        made.made.into_iter().for_each(|(task, priority)| bag.add_with_priority(task, priority));
        result.as_slice().to_vec()
    }

    fn take(&self, result: &[u8]) -> Result<(), String> {
        let Some(take) = self.0.take else { return Ok(()) };
        let result = Aligned::from(result);
        // SAFETY: a function of the program, as the header says; the result stays for the call.
        let code = unsafe { take(self.0.context, result.as_slice().as_ptr().cast()) };
        failure::outcome("mw_run_bag", code)
    }
}

/// # Safety
/// So many bytes lie there.
unsafe fn bytes<'a>(data: *const c_void, n_bytes: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: by the condition of this function.
    unsafe { std::slice::from_raw_parts(data.cast(), n_bytes) }
}
