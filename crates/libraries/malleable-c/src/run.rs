//! A run: begin, resize points, end.

use crate::abi::{
    MALLEABLE_CONTINUE, MALLEABLE_FAILED, MALLEABLE_LEFT, MALLEABLE_RESIZED, malleable_share,
};
use crate::arguments;
use crate::failure::{guarded, misuse};
use crate::state::Registered;
use ::malleable::{Cut, Malleable, Step};
use c_interface::{sentence, set_last_error};
use core::ffi::{c_char, c_int};
use std::ptr;

/// Program that changes its number of ranks while it runs, as seen by one of its processes.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
pub struct malleable {
    run: Malleable,
    pub(crate) state: Registered,
    /// Whether the state of a new process has arrived.
    has_come: bool,
}

/// Begins a malleable program, and initializes MPI unless the program has called `MPI_Init_thread` with
/// `MPI_THREAD_MULTIPLE`; a new process joins the ones that started it. The options of the library are taken from the
/// arguments of `main`, which may be null; `malleable_help` lists them. Null on failure: `malleable_message` returns
/// the reason.
///
/// # Safety
/// `argc` and `argv` are the addresses of those of `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_begin(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
) -> *mut malleable {
    // SAFETY: by the condition of this function.
    unsafe { malleable_begin_with(ptr::null(), argc, argv) }
}

/// Like `malleable_begin`, with the program's own defaults of options, such as "--sizes 2:8", which the variable
/// `SINTONIA_MALLEABLE` and the arguments override.
///
/// # Safety
/// As for `malleable_begin`; the words end with a zero byte, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_begin_with(
    words: *const c_char,
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
) -> *mut malleable {
    let mut begun = ptr::null_mut();
    guarded(|| {
        // SAFETY: by the condition of this function.
        let options = match unsafe { arguments::options(words, argc, argv) } {
            Ok(options) => options,
            Err(why) => return misuse(&why),
        };
        match Malleable::begin(options) {
            Ok(run) => {
                let program = malleable { run, state: Registered::default(), has_come: false };
                begun = Box::into_raw(Box::new(program));
                0
            }
            Err(error) => failed(&error),
        }
    });
    begun
}

fn failed(error: &dyn std::error::Error) -> c_int {
    set_last_error(&sentence(error));
    MALLEABLE_FAILED
}

impl malleable {
    /// Rows of this rank at the start; `None` where the program sets them.
    pub(crate) fn first_share(
        &self,
        n_rows: u64,
        cut: Cut,
    ) -> Option<Result<malleable_share, String>> {
        if self.run.is_new() {
            return Some(Ok(malleable_share::default()));
        }
        if matches!(cut, Cut::Weighted) {
            return None;
        }
        let comm = self.run.comm();
        Some(cut.partition(n_rows, comm.size()).map_err(|error| sentence(&error)).map(|parts| {
            let first = parts.rows_of(comm.rank()).next().map_or(0, |run| run.start);
            malleable_share { first, n_rows: parts.n_rows_of(comm.rank()) }
        }))
    }

    fn resize_point(&mut self, iteration: &mut u64) -> Result<c_int, ::malleable::Error> {
        let is_arriving = self.run.is_new() && !self.has_come;
        let before = (self.run.comm().handle(), self.run.comm().size());
        if self.run.resize_point(*iteration, &mut self.state)? == Step::Left {
            return Ok(MALLEABLE_LEFT);
        }
        let comm = self.run.comm();
        if !is_arriving && before == (comm.handle(), comm.size()) {
            return Ok(MALLEABLE_CONTINUE);
        }
        self.has_come = true;
        self.state.tell(comm)?;
        *iteration = self.run.iteration();
        Ok(MALLEABLE_RESIZED)
    }
}

/// Returns whether this process was started by other ranks, or continues from a checkpoint: then it must not create its
/// data, which arrive at its first resize point.
///
/// # Safety
/// `program` was begun, and has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_is_new(program: *const malleable) -> bool {
    // SAFETY: by the condition of this function.
    unsafe { program.as_ref() }.is_some_and(|program| program.run.is_new())
}

/// Point at which the size may change: at the head of the loop, before this iteration. All processes of the program
/// call it. A new process gets its data here, and the number of the next iteration.
///
/// Returns `MALLEABLE_CONTINUE`; `MALLEABLE_RESIZED` when arrays, rows, and the communicator are new; `MALLEABLE_LEFT`
/// when this process leaves; or an error code. A resize that fails or is refused is not an error: the program
/// continues.
///
/// # Safety
/// `program` was begun, and has not ended; the registered objects exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_resize_point(
    program: *mut malleable,
    iteration: *mut u64,
) -> c_int {
    // SAFETY: by the condition of this function.
    let program = unsafe { program.as_mut() };
    // SAFETY: by the condition of this function.
    let iteration = unsafe { iteration.as_mut() };
    let (Some(program), Some(iteration)) = (program, iteration) else {
        return misuse("`malleable_resize_point` got a null pointer");
    };
    guarded(|| program.resize_point(iteration).unwrap_or_else(|error| failed(&error)))
}

/// Returns the communicator of the present ranks, as a number that `malleable_comm` converts to an `MPI_Comm`. A resize
/// replaces it.
///
/// # Safety
/// `program` was begun, and has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_handle(program: *const malleable) -> usize {
    // SAFETY: by the condition of this function.
    unsafe { program.as_ref() }.map_or(0, |program| program.run.comm().handle())
}

/// Ends the program when the loop is done, or this process leaves: all processes call it. Arrays belong to the program
/// again. MPI is finalized at the end of the process: call `MPI_Finalize` only if the program initialized MPI itself.
/// Returns 0 or an error code.
///
/// # Safety
/// `program` was begun, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_end(program: *mut malleable) -> c_int {
    if program.is_null() {
        return misuse("`malleable_end` got a null pointer");
    }
    // SAFETY: the pointer was returned by `malleable_begin`, and ends here.
    let mut program = unsafe { Box::from_raw(program) };
    guarded(|| {
        let ended = program.run.finish();
        program.state.give_back();
        ended.map_or_else(|error| failed(&error), |()| 0)
    })
}
