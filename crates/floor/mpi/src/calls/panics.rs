//! End of a process that cannot continue, as after a panic, in a program with a changing number of ranks.
//!
//! The launcher should then end the other ranks. MPICH's sometimes misses it, and the others wait forever: in 2 of 60 runs
//! of a C program with a rank that ends within milliseconds of its start, in 3 of 110 where one panics equally soon after a
//! growth, and in 5 of 164 where it calls `MPI_Abort` then; it noticed every signal (250 runs, MPICH 5.0.2). So a process that
//! exits with MPI open ends the job itself: when it panics, and in a program that has grown for any exit code.

use super::Mpi;
use super::exit::{ExitCalls, exit_code, is_in_use, register_exit_code};
use crate::MpiError;
use std::ffi::c_int;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static EXIT: OnceLock<ExitCalls> = OnceLock::new();
static HAS_GROWN: AtomicBool = AtomicBool::new(false);

/// Exit code of a Rust program that panics.
const PANIC: c_int = 101;

impl Mpi {
    /// Makes a panic of this process end all ranks.
    ///
    /// # Errors
    /// When no exit function can be registered.
    pub fn abort_on_panic(&self) -> Result<(), MpiError> {
        if EXIT.get().is_some() {
            return Ok(());
        }
        let exit = ExitCalls::of(self)?;
        if EXIT.set(exit).is_ok() {
            // SAFETY: a function without arguments that exists until the program ends.
            let code = unsafe { libc::atexit(at_exit) };
            if code != 0 {
                let why = "no further exit function can be registered in this process".to_owned();
                return Err(MpiError::Call { call: "atexit", code, why });
            }
            register_exit_code()?;
        }
        Ok(())
    }
}

/// Records that the program has started processes at run time.
pub(crate) fn has_grown(mpi: &Mpi) -> Result<(), MpiError> {
    HAS_GROWN.store(true, Ordering::Release);
    mpi.abort_on_panic()
}

extern "C" fn at_exit() {
    let Some(exit) = EXIT.get().filter(|exit| is_in_use() && !exit.is_over()) else {
        return;
    };
    let code = match exit_code() {
        PANIC => PANIC,
        _ if !HAS_GROWN.load(Ordering::Acquire) => return,
        0 => 1,
        code => code,
    };
    // If the message cannot be written, the exit code or the signal still shows it.
    let _written = writeln!(
        std::io::stderr(),
        "this rank ends before its time, with the code {code}; it ends the other ranks of the program as well"
    );
    exit.end_all(code);
}
