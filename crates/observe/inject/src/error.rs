//! Errors of attaching to a process.

use std::path::PathBuf;
use thiserror::Error;

/// Failure to load a library into a process; a lone number is the id of the process.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InjectError {
    /// The process does not exist.
    #[error("there is no process {0}; `ps` lists those that run")]
    NoProcess(i32),
    /// The system forbids tracing the process.
    #[error("process {pid} cannot be attached to: {reason}")]
    Forbidden {
        /// Id of the process.
        pid: i32,
        /// Setting that forbids it, and a remedy.
        reason: String,
    },
    /// Another debugger traces the process.
    #[error(
        "process {pid} is being traced by process {tracer}; end that first (`gdb`, `strace`, ...)"
    )]
    Traced {
        /// Id of the process.
        pid: i32,
        /// Id of the tracing process.
        tracer: i32,
    },
    /// The process has no dynamic linker.
    #[error(
        "process {0} has no C library with `dlopen`: statically linked programs cannot be attached to; \
             link it dynamically and restart it"
    )]
    Static(i32),
    /// The process cannot see the library's file.
    #[error(
        "process {pid} does not see `{library}`: it has another root directory (a container); install Sintonia there"
    )]
    NotVisible {
        /// Id of the process.
        pid: i32,
        /// Path of the library.
        library: PathBuf,
    },
    /// The library could not be loaded.
    #[error("process {pid} could not load `{library}`: {reason}")]
    NotLoaded {
        /// Id of the process.
        pid: i32,
        /// Path of the library.
        library: PathBuf,
        /// Error message of the process's dynamic linker.
        reason: String,
    },
    /// At every stop, the thread was in code from which nothing may be called.
    #[error("process {0} was inside the C library whenever it was stopped; try again")]
    NeverSafe(i32),
    /// The processor checks return addresses, so that no call can be arranged.
    #[error(
        "process {0} has a shadow stack (`glibc.cpu.x86_shstk` in GLIBC_TUNABLES), so that nothing can be called in it; \
             start the program with `sintonia run` instead"
    )]
    ShadowStack(i32),
    /// The stack of the thread is full.
    #[error("the stack of process {0} has no room below what is in use; try again")]
    NoStack(i32),
    /// The process has no memory for the call.
    #[error(
        "process {pid} could get no memory for the call; see `ulimit -v` and what forbids executable memory"
    )]
    NoMemory {
        /// Id of the process.
        pid: i32,
        /// Cause.
        source: std::io::Error,
    },
    /// The call did not return in time.
    #[error(
        "process {pid} is still loading `{library}` after {patience_s} s, and continues on its own; another thread may hold the \
             lock of the dynamic linker"
    )]
    Waiting {
        /// Id of the process.
        pid: i32,
        /// Path of the library.
        library: PathBuf,
        /// Time waited, in seconds.
        patience_s: u64,
    },
    /// The process ended meanwhile.
    #[error("process {0} ended while it was attached to")]
    Ended(i32),
    /// A system call failed unexpectedly.
    #[error("`{call}` failed for process {pid}")]
    System {
        /// Id of the process.
        pid: i32,
        /// Name of the call.
        call: &'static str,
        /// Cause.
        source: std::io::Error,
    },
}
