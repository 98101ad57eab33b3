//! Errors of MPI calls, and of finding the library.

use std::path::PathBuf;
use std::time::Duration;

/// Reason why a call could not be made, or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// The process was not started by an MPI launcher.
    #[error(
        "this process was not started by an MPI launcher; start it with `mpirun -n 4 PROGRAM`, or use threads"
    )]
    NoLauncher,
    /// The launcher's library cannot be opened.
    #[error(
        "cannot open the MPI library `{}`: {why}; set SINTONIA_MPI_LIBRARY to the path of the one that the launcher belongs to",
        path.display()
    )]
    NoLibrary {
        /// Path of the most likely library.
        path: PathBuf,
        /// Message of the dynamic linker.
        why: String,
    },
    /// The file is not a known MPI library.
    #[error(
        "`{}` is no library of Open MPI or MPICH; set SINTONIA_MPI_LIBRARY to the path of one",
        .0.display()
    )]
    OtherLibrary(PathBuf),
    /// The library lacks a function.
    #[error("the MPI library has no `{name}`; use Open MPI 4, MPICH 4, or newer ones")]
    NoFunction {
        /// Name of the function.
        name: &'static str,
    },
    /// MPI was finalized earlier.
    #[error("MPI was already finalized in this process; initialize it once and keep it until exit")]
    Finalized,
    /// A call was made before MPI was initialized.
    #[error("MPI is not initialized; call `MPI_Init_thread` first")]
    NotInitialized,
    /// The program initialized MPI for calls of one thread only.
    #[error("the program initialized MPI below `MPI_THREAD_SERIALIZED`; ask for that level there")]
    ThreadLevel,
    /// The library supports calls of one thread only, and another thread made one.
    #[error(
        "the MPI library was begun for calls of one thread; call from the thread that began it, or ask for `MPI_THREAD_MULTIPLE`"
    )]
    OtherThread,
    /// The communicator has no such rank.
    #[error("there is no rank `{rank}` among {n_ranks}; name one below that number")]
    NoRank {
        /// The rank asked for.
        rank: u32,
        /// Number of ranks.
        n_ranks: u32,
    },
    /// A buffer has the wrong length.
    #[error("`{call}` got {given} elements, expected {wanted}")]
    Length {
        /// Name of the call.
        call: &'static str,
        /// Number of elements given.
        given: usize,
        /// Number of elements needed.
        wanted: usize,
    },
    /// An operation did not complete in time.
    #[error(
        "`{call}` did not end within {} ms; see whether the other ranks take part, or allow more time",
        waited.as_millis()
    )]
    Late {
        /// Name of the call.
        call: &'static str,
        /// Time waited.
        waited: Duration,
    },
    /// A text that contains a zero byte cannot be passed to the library.
    #[error("`{text}` contains a zero byte; take it out")]
    ZeroByte {
        /// The text.
        text: String,
    },
    /// The connection with the processes that started this one was taken before.
    #[error("the connection with the process that started this one was handed out before; keep it")]
    ParentTaken,
    /// An MPI call failed.
    #[error("`{call}` failed with code {code}: {why}")]
    Call {
        /// Name of the call.
        call: &'static str,
        /// Its return code.
        code: i32,
        /// Error text of the library.
        why: String,
    },
    /// A message is longer than MPI can count.
    #[error("a message of {n_bytes} bytes is too long for MPI; send it in parts below 2 GiB")]
    TooLong {
        /// Length, in bytes.
        n_bytes: usize,
    },
}

/// Checks that the number of elements given is the number wanted.
pub(crate) fn wanted(call: &'static str, given: usize, wanted: usize) -> Result<(), MpiError> {
    if given == wanted { Ok(()) } else { Err(MpiError::Length { call, given, wanted }) }
}

/// Checks that `n` elements or bytes from `start` on lie within `length`.
pub(crate) fn within(
    call: &'static str,
    (start, n): (usize, usize),
    length: usize,
) -> Result<(), MpiError> {
    let wanted = start.saturating_add(n);
    if wanted <= length { Ok(()) } else { Err(MpiError::Length { call, given: length, wanted }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Release builds by compilers on LLVM 22 and older move results with a more aligned error through the stack by
    /// instructions that fault (record 0022): a lost rank crashed all others.
    #[test]
    fn an_error_is_aligned_as_a_word() {
        assert_eq!(align_of::<MpiError>(), align_of::<u64>());
    }
}
