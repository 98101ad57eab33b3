//! Constants and structs of the C interface: the header is generated from this file and from the functions of the
//! others.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

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

/// Wish for some tasks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_hint {
    /// Tasks that it is for.
    pub tasks: mw_tasks,
    /// Priority: higher ones are dealt first; that of all other tasks is 0.
    pub priority: i32,
    /// Rank of a worker that has what they need, or 0: others get them only when they have nothing else to do of the same
    /// priority.
    pub near: u32,
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
    /// Where tasks arrive while the iteration runs: their number so far, which begins with `n_tasks`, is raised once
    /// their inputs are there, from any thread, and stays valid until the function is called again or the run ends. The
    /// iteration ends when all tasks that have arrived are done. Null when no more arrive.
    pub n_arrived: *const u64,
    /// Returns wishes for the tasks that the iteration begins with, and for those that arrive, and sets their number; the
    /// array stays valid until the next call. Null when there are no wishes.
    pub hints: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            arrived: mw_tasks,
            n_hints: *mut usize,
        ) -> *const mw_hint,
    >,
    /// True to give each task to the worker that did it in the iteration before, if that one set this, too; others get it
    /// only when they have nothing else to do.
    pub keeps_places: bool,
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
