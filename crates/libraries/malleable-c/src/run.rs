//! A run: begin, resize points, end.

use crate::abi::{
    MALLEABLE_CONTINUE, MALLEABLE_FAILED, MALLEABLE_LEFT, MALLEABLE_MISUSE, MALLEABLE_RESIZED,
    malleable_share,
};
use crate::arguments;
use crate::failure::{guarded, misuse};
use crate::state::{Registered, SizeHooks};
use ::malleable::{Cut, Malleable, Step};
use c_interface::{sentence, set_last_error};
use core::ffi::{c_char, c_int, c_void};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::Rc;

/// Program that changes its number of ranks while it runs, as seen by one of its processes.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
pub struct malleable {
    /// Borrowed during each call, so that a function of the program that is called meanwhile gets an error.
    parts: RefCell<Parts>,
    /// Communicator of the present ranks.
    comm: Rc<Cell<usize>>,
    is_new: bool,
}

/// Function that is called when a size begins or ends; it may ask for the communicator and the rows.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
pub type malleable_hook =
    Option<unsafe extern "C" fn(program: *mut malleable, context: *mut c_void)>;

pub(crate) struct Parts {
    run: Malleable,
    pub(crate) state: Registered,
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
                begun = Box::into_raw(Box::new(malleable::of(run)));
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
    fn of(run: Malleable) -> Self {
        let (comm, is_new) = (Rc::new(Cell::new(run.comm().handle())), run.is_new());
        let state = Registered::telling(Rc::clone(&comm));
        Self { parts: RefCell::new(Parts { run, state }), comm, is_new }
    }

    /// Runs the body of a function that C calls, unless it is called by a function that the library has called.
    pub(crate) fn with(&self, body: impl FnOnce(&mut Parts) -> c_int) -> c_int {
        match self.parts.try_borrow_mut() {
            Ok(mut parts) => guarded(|| body(&mut parts)),
            Err(_) => misuse("the library was called by a function that it calls itself"),
        }
    }
}

impl Parts {
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
        let step = self.run.resize_point(*iteration, &mut self.state);
        if step.inspect_err(|_| self.state.forget_size())? == Step::Left {
            return Ok(MALLEABLE_LEFT);
        }
        if !self.state.take_come() {
            return Ok(MALLEABLE_CONTINUE);
        }
        *iteration = self.run.iteration();
        Ok(MALLEABLE_RESIZED)
    }

    fn end(&mut self) -> c_int {
        self.state.end_size();
        let ended = self.run.finish();
        self.state.give_back();
        ended.map_or_else(|error| failed(&error), |()| 0)
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
    unsafe { program.as_ref() }.is_some_and(|program| program.is_new)
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
    let program = unsafe { program.as_ref() };
    // SAFETY: by the condition of this function.
    let iteration = unsafe { iteration.as_mut() };
    let (Some(program), Some(iteration)) = (program, iteration) else {
        return misuse("`malleable_resize_point` got a null pointer");
    };
    let code =
        program.with(|parts| parts.resize_point(iteration).unwrap_or_else(|error| failed(&error)));
    if code == MALLEABLE_LEFT {
        program.comm.set(program.parts.borrow().run.comm().handle());
    }
    code
}

/// Returns the communicator of the present ranks, as a number that `malleable_comm` converts to an `MPI_Comm`. A resize
/// replaces it.
///
/// # Safety
/// `program` was begun, and has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_handle(program: *const malleable) -> usize {
    // SAFETY: by the condition of this function.
    unsafe { program.as_ref() }.map_or(0, |program| program.comm.get())
}

/// Has functions called with each size: `begins` when a number of ranks begins, `ends` when it ends; either may be null.
///
/// `begins` makes what depends on the present ranks, such as communicators derived from `malleable_comm`, windows, files,
/// lists of neighbors, and ghost cells; `ends` frees it. All ranks call `begins` together at the first resize point, and
/// after every resize with their new data, new ranks too; so the program need not make any of it before its loop. All
/// ranks call `ends` together before a resize, also those that leave, and in `malleable_end`. MPI keeps a process that
/// has left until its windows and files are freed.
///
/// Functions that are registered later begin later and end earlier. They may call `malleable_comm` and
/// `malleable_is_new`, and no other function of this library.
///
/// # Safety
/// The functions may be called with this context until the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_each_size(
    program: *mut malleable,
    begins: malleable_hook,
    ends: malleable_hook,
    context: *mut c_void,
) -> c_int {
    // SAFETY: by the condition of this function.
    let Some(own) = (unsafe { program.as_ref() }) else {
        return misuse("`malleable_each_size` got a null pointer");
    };
    own.with(|parts| {
        // SAFETY: by the condition of this function.
        let begins = begins.map(|begins| move || unsafe { begins(program, context) });
        // SAFETY: by the condition of this function.
        let ends = ends.map(|ends| move || unsafe { ends(program, context) });
        parts.state.hooks(SizeHooks::of(begins, ends));
        0
    })
}

/// Ends the program when the loop is done, or this process leaves: all processes call it. Arrays belong to the program
/// again. MPI is finalized at the end of the process: call `MPI_Finalize` only if the program initialized MPI itself.
/// Returns 0 or an error code.
///
/// # Safety
/// `program` was begun, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_end(program: *mut malleable) -> c_int {
    // SAFETY: by the condition of this function.
    let Some(own) = (unsafe { program.as_ref() }) else {
        return misuse("`malleable_end` got a null pointer");
    };
    let code = own.with(Parts::end);
    if code == MALLEABLE_MISUSE {
        return code;
    }
    // SAFETY: the pointer was returned by `malleable_begin`, and ends here.
    drop(unsafe { Box::from_raw(program) });
    code
}
