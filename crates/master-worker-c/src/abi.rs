//! What C sees of the library: the header is made from this file, and from the functions of the others.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

use crate::buffer::mw_buffer;
use core::ffi::{c_char, c_int, c_void};

/// The run ended well; or `--help` was asked for and given.
pub const MW_OK: c_int = 0;
/// An argument of a function of this library cannot be: a null pointer, an unknown option.
pub const MW_MISUSE: c_int = 1;
/// An option of the run is wrong.
pub const MW_OPTIONS: c_int = 2;
/// The ranks cannot communicate, or the master is gone.
pub const MW_COMMUNICATION: c_int = 3;
/// The checkpoint cannot be written or read.
pub const MW_CHECKPOINT: c_int = 4;
/// Tasks failed wherever they were tried.
pub const MW_TASKS: c_int = 5;
/// The run was canceled.
pub const MW_CANCELED: c_int = 6;
/// A function of the master failed.
pub const MW_PROGRAM: c_int = 7;
/// The library failed; please report it.
pub const MW_BUG: c_int = 8;

/// Bytes that lie somewhere; aligned for every number when the library passes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_bytes {
    /// The first one; not to be looked at when there are none.
    pub data: *const c_void,
    /// How many.
    pub n_bytes: usize,
}

/// Tasks: from `start` on, and before `end`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_tasks {
    /// The first one.
    pub start: u64,
    /// Behind the last one.
    pub end: u64,
}

/// Tasks that are dealt before those of a lower priority.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_priority {
    /// Which ones.
    pub tasks: mw_tasks,
    /// Their priority; that of all others is 0.
    pub priority: i32,
}

/// The next iteration.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_plan {
    /// How many tasks it has, counted from 0. It is 0 before: leave it so when there is no iteration any more.
    pub n_tasks: u64,
    /// What comes first, or null; where they overlap, the first one counts. They stay until the function is
    /// called again or the run ends.
    pub priorities: *const mw_priority,
    /// How many these are.
    pub n_priorities: usize,
}

/// One worker in one iteration.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_worker_report {
    /// Its rank.
    pub rank: u32,
    /// Tasks that it did.
    pub n_tasks: u64,
    /// In so many chunks.
    pub n_chunks: u64,
    /// Time in `worker_work`.
    pub compute_s: f64,
    /// How long it waited for chunks after its first one.
    pub waited_s: f64,
}

/// What an iteration was like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_iteration_report {
    /// Its number, from 0.
    pub iteration: u64,
    /// Its tasks.
    pub n_tasks: u64,
    /// Chunks dealt, those that were dealt again included.
    pub n_chunks: u64,
    /// Chunks taken back before they were begun.
    pub n_retracted: u64,
    /// Chunks that failed and were tried again.
    pub n_retried: u64,
    /// Workers lost or missed in it.
    pub n_lost: u64,
    /// From its start to its last result.
    pub duration_s: f64,
    /// Share of the time of all workers in which they computed.
    pub efficiency: f64,
    /// Bytes of the shared data, sent to each worker.
    pub shared_bytes: u64,
    /// Bytes of inputs, of all chunks together.
    pub input_bytes: u64,
    /// Bytes of results, of all chunks together.
    pub output_bytes: u64,
    /// Those who took part, by rank; the master when it computed something.
    pub workers: *const mw_worker_report,
    /// How many these are.
    pub n_workers: usize,
    /// Why workers were idle and why there were so many, in words.
    pub explanation: *const c_char,
}

/// What a run was like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_report {
    /// Iterations computed by this run.
    pub n_iterations: u64,
    /// The number of the first one: not 0 when the run went on from a checkpoint.
    pub first_iteration: u64,
    /// Chunks of all iterations.
    pub n_chunks: u64,
    /// Tasks of all iterations.
    pub n_tasks: u64,
    /// Time of all iterations together.
    pub iterations_s: f64,
}

/// A program of a master and workers: its functions, in the order in which they are called.
///
/// Null where a program does not need one; it needs `master_next`, `worker_work` and `master_recover`. Those that
/// return a number return 0 when all is well. Anything else is a failure: that of `worker_work` or `worker_init`
/// has the tasks tried on another worker, that of a function of the master ends the run. `mw_fail` says why.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_program {
    /// The program's own; passed to each function.
    pub state: *mut c_void,
    /// When ranks are threads, each worker gets a copy of so many bytes of `state`, made before the run begins:
    /// what the master changes does not reach it, as between processes. With 0 all threads share `state`, and
    /// workers must not change it.
    pub n_state_bytes: usize,
    /// How many iterations there will be in all, or 0 where that is not known: `--progress` then says how much time
    /// is left.
    pub n_iterations: u64,
    /// Master, initialize: before its first iteration, or before `master_restore`.
    pub master_init: Option<unsafe extern "C" fn(state: *mut c_void) -> c_int>,
    /// Worker, initialize: before its first chunk; on the master too, when it computes.
    pub worker_init: Option<unsafe extern "C" fn(state: *mut c_void, rank: u32) -> c_int>,
    /// Master, partition: the tasks of the next iteration, and what all workers need for them. What is written to
    /// `shared` replaces what they have; when nothing is written, they keep it.
    pub master_next: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            iteration: u64,
            plan: *mut mw_plan,
            shared: *mut mw_buffer,
        ) -> c_int,
    >,
    /// Master: what goes with these tasks. It may be asked again for tasks that come back. Null when their
    /// numbers say it all.
    pub master_input: Option<
        unsafe extern "C" fn(state: *mut c_void, tasks: mw_tasks, input: *mut mw_buffer) -> c_int,
    >,
    /// Worker, do work: computes a chunk of tasks and writes its result. It depends on nothing but its arguments
    /// and what the program was at the start: it may be called again on another rank.
    pub worker_work: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            tasks: mw_tasks,
            shared: mw_bytes,
            input: mw_bytes,
            result: *mut mw_buffer,
        ) -> c_int,
    >,
    /// Master, recover: takes the result of a chunk, once for every task, chunks in any order.
    pub master_recover: Option<
        unsafe extern "C" fn(state: *mut c_void, tasks: mw_tasks, result: mw_bytes) -> c_int,
    >,
    /// Master, after each chunk: whether the other tasks of this iteration need not be computed any more.
    pub master_is_settled: Option<unsafe extern "C" fn(state: *mut c_void) -> bool>,
    /// Master, end of iteration: all its tasks are recovered, or it is settled.
    pub master_end_iteration: Option<
        unsafe extern "C" fn(state: *mut c_void, report: *const mw_iteration_report) -> c_int,
    >,
    /// Master: writes what `master_restore` needs to go on after this iteration; for `--checkpoint`.
    pub master_save:
        Option<unsafe extern "C" fn(state: *mut c_void, saved: *mut mw_buffer) -> c_int>,
    /// Master: goes back to what was saved; for `--resume`.
    pub master_restore: Option<unsafe extern "C" fn(state: *mut c_void, saved: mw_bytes) -> c_int>,
    /// Worker, final work: there will be no more chunks.
    pub worker_final: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Master, final work: after the last iteration, when the run ended well.
    pub master_final:
        Option<unsafe extern "C" fn(state: *mut c_void, report: *const mw_report) -> c_int>,
}

/// A function of many items; see `mw_map`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mw_function {
    /// Computes a result of `n_result_bytes` from an item; 0 when all is well. It is called by several threads at
    /// once.
    pub function: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            item: *const c_void,
            result: *mut c_void,
        ) -> c_int,
    >,
    /// Passed to it, on the rank on which it runs.
    pub context: *mut c_void,
    /// Bytes of an item.
    pub n_item_bytes: usize,
    /// Bytes of a result.
    pub n_result_bytes: usize,
}
