//! The end of MPI where we began it: when the process exits, so that another transport may follow the last one.
//!
//! A rank that is done early waits for the others asleep: in `MPI_Finalize` it would keep a core busy.
//!
//! # Invariants
//! - MPI is ended only when every transport was left in good order. Otherwise somebody may wait for this rank for
//!   ever, whom the launcher ends when this process exits without.

use super::{Mpi, value};
use crate::CommError;
use crate::mpi::functions::{Entrance, Functions, Handle};
use crate::mpi::watch::watched;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Transports that were not left.
static N_OPEN: AtomicU32 = AtomicU32::new(0);
static EXIT: OnceLock<Exit> = OnceLock::new();

/// Between two looks whether the others are done.
const PAUSE: Duration = Duration::from_millis(1);
/// Looks before the first pause: mostly all are done at once.
const N_AWAKE: u32 = 1000;

/// What is needed at the end.
#[derive(Debug)]
struct Exit {
    entrance: Entrance,
    functions: Functions,
    world: Handle,
    status_ignore: isize,
}

impl Mpi {
    /// Sees to it that MPI is ended with the process; for who began it.
    pub(super) fn end_with_process(&self) -> Result<(), CommError> {
        let exit = Exit {
            entrance: Entrance::find()?,
            functions: Functions::find()?,
            world: value(self.constants.comm_world)?,
            status_ignore: self.constants.status_ignore,
        };
        if EXIT.set(exit).is_ok() {
            // SAFETY: a function that takes nothing, and lies in the program to its end.
            let code = unsafe { libc::atexit(at_exit) };
            if code != 0 {
                let why = "the process takes no more functions for its end".to_owned();
                return Err(CommError::Mpi { call: "atexit", code, why });
            }
        }
        Ok(())
    }

    pub(super) fn opened() {
        N_OPEN.fetch_add(1, Ordering::AcqRel);
    }

    /// The transport needs MPI no more.
    pub(crate) fn close(&self) {
        N_OPEN.fetch_sub(1, Ordering::AcqRel);
    }
}

extern "C" fn at_exit() {
    if let Some(exit) = EXIT.get()
        && N_OPEN.load(Ordering::Acquire) == 0
        && !exit.entrance.is(exit.entrance.finalized)
    {
        exit.end();
    }
}

impl Exit {
    /// What fails here fails in `MPI_Finalize` as well, which tells it.
    fn end(&self) {
        let mut request: Handle = 0;
        // SAFETY: a predefined communicator, whose ranks all come here, and room for a handle.
        let mut code = unsafe { (self.functions.ibarrier)(self.world, &raw mut request) };
        let (mut are_all_here, mut n_looks): (c_int, u32) = (0, 0);
        while code == 0 && are_all_here == 0 {
            let ignored = self.status_ignore as *mut c_void;
            // SAFETY: a request that is not complete, and room for a flag.
            code =
                unsafe { (self.functions.test)(&raw mut request, &raw mut are_all_here, ignored) };
            n_looks = n_looks.saturating_add(1);
            if N_AWAKE < n_looks {
                std::thread::sleep(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
        let finalize = || {
            // SAFETY: initialized by us and not finalized; nothing of ours is on its way.
            unsafe { (self.functions.finalize)() }
        };
        let _code = watched("MPI_Finalize", finalize);
    }
}
