//! Constants and structs of the C interface: the header is generated from this file and from the functions of the
//! others.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use crate::buffer::mw_buffer;
use core::ffi::{c_char, c_int, c_void};

/// The run ended without an error; or `--help` was given.
pub const MW_OK: c_int = 0;
/// An argument of a library function is not valid: a null pointer, an unknown option.
pub const MW_MISUSE: c_int = 1;
/// An option of the run is not valid.
pub const MW_OPTIONS: c_int = 2;
/// The ranks cannot communicate, or the master is gone.
pub const MW_COMMUNICATION: c_int = 3;
/// The checkpoint cannot be written or read.
pub const MW_CHECKPOINT: c_int = 4;
/// Tasks failed at every attempt.
pub const MW_TASKS: c_int = 5;
/// The run was canceled.
pub const MW_CANCELED: c_int = 6;
/// A function of the master failed.
pub const MW_PROGRAM: c_int = 7;
/// Bug in the library; please report it.
pub const MW_BUG: c_int = 8;

/// Bytes in memory; aligned for every number when the library passes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_bytes {
    /// First byte; ignored when there are none.
    pub data: *const c_void,
    /// Number of bytes.
    pub n_bytes: usize,
}

/// Range of tasks, from `start` up to but excluding `end`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_tasks {
    /// First task.
    pub start: u64,
    /// One past the last task.
    pub end: u64,
}

/// Priority of some tasks; higher ones are dealt first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_priority {
    /// Tasks with this priority.
    pub tasks: mw_tasks,
    /// Priority; that of all other tasks is 0.
    pub priority: i32,
}

/// Plan of the next iteration.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_plan {
    /// Number of tasks. Preset to 0: leave it so when there are no more iterations.
    pub n_tasks: u64,
    /// Priorities of tasks, or null; where ranges overlap, the first one counts. The array must stay valid until
    /// the function is called again or the run ends.
    pub priorities: *const mw_priority,
    /// Number of priorities.
    pub n_priorities: usize,
}

/// Report of one worker in one iteration.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_worker_report {
    /// Rank of the worker.
    pub rank: u32,
    /// Tasks computed.
    pub n_tasks: u64,
    /// Chunks computed.
    pub n_chunks: u64,
    /// Time in `worker_work`, in seconds.
    pub compute_s: f64,
    /// Time spent waiting for chunks after the first one, in seconds.
    pub waited_s: f64,
}

/// Report of one iteration.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_iteration_report {
    /// Number of the iteration, from 0.
    pub iteration: u64,
    /// Number of its tasks.
    pub n_tasks: u64,
    /// Chunks dealt, including those dealt again.
    pub n_chunks: u64,
    /// Chunks taken back before they began.
    pub n_retracted: u64,
    /// Chunks that failed and were retried.
    pub n_retried: u64,
    /// Workers lost or missing in the iteration.
    pub n_lost: u64,
    /// Time from the start of the iteration to its last result, in seconds.
    pub duration_s: f64,
    /// Share of the workers' time in which they computed.
    pub efficiency: f64,
    /// Bytes of the shared data, sent to each worker.
    pub shared_bytes: u64,
    /// Bytes of the inputs of all chunks together.
    pub input_bytes: u64,
    /// Bytes of the results of all chunks together.
    pub output_bytes: u64,
    /// Ranks that took part, in order; includes the master if it computed anything.
    pub workers: *const mw_worker_report,
    /// Number of workers.
    pub n_workers: usize,
    /// Reasons for idle workers and for their number, in words.
    pub explanation: *const c_char,
}

/// Report of a run.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_report {
    /// Iterations computed by this run.
    pub n_iterations: u64,
    /// Number of the first iteration: not 0 when the run continued from a checkpoint.
    pub first_iteration: u64,
    /// Chunks of all iterations.
    pub n_chunks: u64,
    /// Tasks of all iterations.
    pub n_tasks: u64,
    /// Time of all iterations together, in seconds.
    pub iterations_s: f64,
}

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
