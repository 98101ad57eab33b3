//! Why a process cannot be attached to.

use std::path::PathBuf;
use thiserror::Error;

/// Why a library could not be loaded into a process.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InjectError {
    /// There is no such process.
    #[error("there is no process {pid}; `ps` lists those that run")]
    NoProcess {
        /// Its id.
        pid: i32,
    },
    /// The system forbids it.
    #[error("process {pid} cannot be attached to: {reason}")]
    Forbidden {
        /// Its id.
        pid: i32,
        /// Which setting forbids it, and what to do.
        reason: String,
    },
    /// Another debugger has it.
    #[error(
        "process {pid} is being traced by process {tracer}; end that first (`gdb`, `strace`, ...)"
    )]
    Traced {
        /// Its id.
        pid: i32,
        /// Who traces it.
        tracer: i32,
    },
    /// It has no dynamic linker.
    #[error(
        "process {pid} has no C library with `dlopen`: programs that are linked statically cannot be attached to; \
             link it dynamically and start it anew"
    )]
    Static {
        /// Its id.
        pid: i32,
    },
    /// The library is not where the process could find it.
    #[error(
        "process {pid} does not see `{library}`: it has another root folder (a container); install Sintonia there"
    )]
    Unseen {
        /// Its id.
        pid: i32,
        /// The library.
        library: PathBuf,
    },
    /// The library could not be loaded.
    #[error("process {pid} could not load `{library}`: {reason}")]
    NotLoaded {
        /// Its id.
        pid: i32,
        /// The library.
        library: PathBuf,
        /// What its dynamic linker says.
        reason: String,
    },
    /// It was always in a place where nothing may be called.
    #[error("process {pid} was inside the C library whenever it was stopped; try again")]
    NeverSafe {
        /// Its id.
        pid: i32,
    },
    /// Nobody but the processor may say where its functions return to.
    #[error(
        "process {pid} has a shadow stack (`glibc.cpu.x86_shstk` in GLIBC_TUNABLES), so that nothing can be called in it; \
             start the program with `sintonia run` instead"
    )]
    Guarded {
        /// Its id.
        pid: i32,
    },
    /// Its stack is full.
    #[error("the stack of process {pid} has no room below what is in use; try again")]
    NoStack {
        /// Its id.
        pid: i32,
    },
    /// It has no memory for the call.
    #[error(
        "process {pid} could get no memory for the call; see `ulimit -v` and what forbids executable memory"
    )]
    NoMemory {
        /// Its id.
        pid: i32,
        /// Why.
        source: std::io::Error,
    },
    /// The call does not return.
    #[error(
        "process {pid} is still loading `{library}` after {patience_s} s, and is left alone with that; another of its \
             threads may be loading something"
    )]
    Waiting {
        /// Its id.
        pid: i32,
        /// The library.
        library: PathBuf,
        /// How long was waited, in seconds.
        patience_s: u64,
    },
    /// It ended meanwhile.
    #[error("process {pid} ended while it was attached to")]
    Ended {
        /// Its id.
        pid: i32,
    },
    /// A system call failed that should not.
    #[error("`{call}` failed for process {pid}")]
    System {
        /// Its id.
        pid: i32,
        /// The call.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
}
