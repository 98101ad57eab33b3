//! The end of a process of a program with a changing number of ranks that cannot go on, as after a panic.
//!
//! The launcher is to end the others then. MPICH's misses it now and then, and the others wait for ever: in 2 of 60 runs of a C program
//! whose rank ends within milliseconds of its begin, in 3 of 110 in which one panics as soon after a growth, and in 5 of 164
//! in which it calls `MPI_Abort` then; it has seen every signal (250 runs, MPICH 5.0.2). So a process that ends with MPI open
//! ends the job itself: when it panics, and in a program that has grown whatever its code is.

use super::Mpi;
use super::exit::{Exit, code_of_process, is_anybody_open, remember_code};
use crate::MpiError;
use std::ffi::c_int;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static EXIT: OnceLock<Exit> = OnceLock::new();
static HAS_GROWN: AtomicBool = AtomicBool::new(false);

/// What a Rust program ends with that panics.
const PANIC: c_int = 101;

impl Mpi {
    /// A panic of this process is to be the end of all ranks.
    ///
    /// # Errors
    /// When the process takes no more functions for its end.
    pub fn end_all_by_panics(&self) -> Result<(), MpiError> {
        if EXIT.get().is_some() {
            return Ok(());
        }
        let exit = self.exit()?;
        if EXIT.set(exit).is_ok() {
            // SAFETY: a function that takes nothing, and lies in the program to its end.
            let code = unsafe { libc::atexit(at_exit) };
            if code != 0 {
                let why = "the process takes no more functions for its end".to_owned();
                return Err(MpiError::Call { call: "atexit", code, why });
            }
            remember_code()?;
        }
        Ok(())
    }

    /// The program has processes that were started at run time.
    pub(crate) fn has_grown(&self) -> Result<(), MpiError> {
        HAS_GROWN.store(true, Ordering::Release);
        self.end_all_by_panics()
    }
}

extern "C" fn at_exit() {
    let Some(exit) = EXIT.get().filter(|exit| is_anybody_open() && !exit.is_over()) else {
        return;
    };
    let code = match code_of_process() {
        PANIC => PANIC,
        _ if !HAS_GROWN.load(Ordering::Acquire) => return,
        0 => 1,
        code => code,
    };
    // Who does not hear it sees the code, or the signal.
    let _written = writeln!(
        std::io::stderr(),
        "this rank ends before its time, with the code {code}; it ends the other ranks of the program as well"
    );
    exit.end_all(code);
}
