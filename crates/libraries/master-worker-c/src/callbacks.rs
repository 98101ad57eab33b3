//! Functions that a program gives to the library, as structs of the C interface.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use crate::abi::{mw_bytes, mw_iteration_report, mw_plan, mw_report, mw_tasks};
use crate::buffer::mw_buffer;
use core::ffi::{c_int, c_void};

/// A master/worker program: its functions, in the order in which they are called.
///
/// Functions that a program does not need are null; it needs `master_next`, `worker_work` and `master_recover`. A
/// function that returns a number returns 0 on success. Any other value is a failure: if `worker_work` or
/// `worker_init` fails, the tasks are retried on another worker; if a function of the master fails, the run ends.
/// `mw_fail` sets the reason.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_program {
    /// State of the program, passed to each function.
    pub state: *mut c_void,
    /// Number of bytes of `state` of which each worker gets its own copy when ranks are threads, made before the run
    /// begins: changes by the master do not reach it, as between processes. With 0 all threads share `state`, and
    /// workers must not change it.
    pub n_state_bytes: usize,
    /// Total number of iterations, or 0 if unknown: with it, `--progress` shows the time left.
    pub n_iterations: u64,
    /// Master, initialize: called before its first iteration, or before `master_restore`.
    pub master_init: Option<unsafe extern "C" fn(state: *mut c_void) -> c_int>,
    /// Worker, initialize: called before its first chunk; on the master too, when it computes.
    pub worker_init: Option<unsafe extern "C" fn(state: *mut c_void, rank: u32) -> c_int>,
    /// Master, partition: sets the tasks of the next iteration, and the data that all workers need for them. Bytes
    /// written to `shared` replace the workers' shared data; when nothing is written, they keep them.
    pub master_next: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            iteration: u64,
            plan: *mut mw_plan,
            shared: *mut mw_buffer,
        ) -> c_int,
    >,
    /// Master: writes the input of these tasks. May be called again for tasks that are dealt again. Null when the
    /// task numbers suffice.
    pub master_input: Option<
        unsafe extern "C" fn(state: *mut c_void, tasks: mw_tasks, input: *mut mw_buffer) -> c_int,
    >,
    /// Worker, do work: computes a chunk of tasks and writes its result. The result must depend only on the
    /// arguments and on what the program was at the start: the function may be called again on another rank.
    pub worker_work: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            tasks: mw_tasks,
            shared: mw_bytes,
            input: mw_bytes,
            result: *mut mw_buffer,
        ) -> c_int,
    >,
    /// Master, recover: takes the result of a chunk; exactly once for every task, chunks in any order.
    pub master_recover: Option<
        unsafe extern "C" fn(state: *mut c_void, tasks: mw_tasks, result: mw_bytes) -> c_int,
    >,
    /// Master, after each chunk: returns whether the other tasks of this iteration are no longer needed.
    pub master_is_settled: Option<unsafe extern "C" fn(state: *mut c_void) -> bool>,
    /// Master, end of iteration: called when all its tasks are recovered, or it is settled.
    pub master_end_iteration: Option<
        unsafe extern "C" fn(state: *mut c_void, report: *const mw_iteration_report) -> c_int,
    >,
    /// Master: writes the state that `master_restore` needs to continue after this iteration; for `--checkpoint`.
    pub master_save:
        Option<unsafe extern "C" fn(state: *mut c_void, saved: *mut mw_buffer) -> c_int>,
    /// Master: restores the saved state; for `--resume`.
    pub master_restore: Option<unsafe extern "C" fn(state: *mut c_void, saved: mw_bytes) -> c_int>,
    /// Worker, final work: called after the last chunk.
    pub worker_final: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Master, final work: called after the last iteration, when the run ended without an error.
    pub master_final:
        Option<unsafe extern "C" fn(state: *mut c_void, report: *const mw_report) -> c_int>,
}

/// Function applied to many items; see `mw_map`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_function {
    /// Computes a result of `n_result_bytes` from an item; returns 0 on success. Several threads call it at the
    /// same time.
    pub function: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            item: *const c_void,
            result: *mut c_void,
        ) -> c_int,
    >,
    /// First argument of the function, on the rank on which it runs.
    pub context: *mut c_void,
    /// Size of an item, in bytes.
    pub n_item_bytes: usize,
    /// Size of a result, in bytes.
    pub n_result_bytes: usize,
}
