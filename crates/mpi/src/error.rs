//! Why a call of MPI could not be made, or failed.

use std::path::PathBuf;
use std::time::Duration;

/// The library was not found, or one of its calls failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// The program was not started as a rank.
    #[error(
        "this process was not started by an MPI launcher; start it with `mpirun -n 4 PROGRAM`, or use threads"
    )]
    NoLauncher,
    /// The library of the launcher is not there.
    #[error(
        "cannot open the MPI library `{}`: {why}; set SINTONIA_MPI_LIBRARY to the path of the one that the launcher belongs to",
        path.display()
    )]
    NoLibrary {
        /// The likeliest one.
        path: PathBuf,
        /// In the words of the dynamic linker.
        why: String,
    },
    /// A file was opened that is no known MPI library.
    #[error(
        "`{}` is no library of Open MPI or MPICH; set SINTONIA_MPI_LIBRARY to the path of one",
        .0.display()
    )]
    OtherLibrary(PathBuf),
    /// The library lacks a function.
    #[error("the MPI library has no `{name}`; use Open MPI 4, MPICH 4, or newer ones")]
    NoFunction {
        /// Which one.
        name: &'static str,
    },
    /// MPI was ended before.
    #[error("MPI was finalized in this process already; begin it once and keep it to the end")]
    Finalized,
    /// Something was asked of MPI before its beginning.
    #[error("MPI is not initialized; call `MPI_Init_thread` before")]
    NotInitialized,
    /// The program initialized MPI for calls of one thread only.
    #[error("the program initialized MPI below `MPI_THREAD_SERIALIZED`; ask for that level there")]
    ThreadLevel,
    /// The library takes calls of one thread only, and another one called.
    #[error(
        "the MPI library was begun for calls of one thread; call from the thread that began it, or ask for `MPI_THREAD_MULTIPLE`"
    )]
    OtherThread,
    /// A rank was named that is not there.
    #[error("there is no rank `{rank}` among {n_ranks}; name one below that number")]
    NoRank {
        /// Which one.
        rank: u32,
        /// How many there are.
        n_ranks: u32,
    },
    /// A buffer does not fit what is to be there.
    #[error("`{call}` was given {given} elements where {wanted} are wanted; give it as many")]
    Length {
        /// Which call.
        call: &'static str,
        /// How many were given.
        given: usize,
        /// How many are wanted.
        wanted: usize,
    },
    /// Something did not happen in time.
    #[error(
        "`{call}` did not end within {} ms; see whether the other ranks take part, or allow more time",
        waited.as_millis()
    )]
    Late {
        /// Which call.
        call: &'static str,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A text cannot be given to the library.
    #[error("`{text}` contains a zero byte; take it out")]
    ZeroByte {
        /// The text.
        text: String,
    },
    /// The process that started this one was asked for before.
    #[error("the connection with the process that started this one was handed out before; keep it")]
    ParentTaken,
    /// More elements than the call counts.
    #[error("`{call}` of {n} elements at once is too long; call `Parts::wide` on all ranks")]
    TooMany {
        /// Which call.
        call: &'static str,
        /// How many.
        n: usize,
    },
    /// A call failed.
    #[error("`{call}` failed with code {code}: {why}")]
    Call {
        /// Which call.
        call: &'static str,
        /// What it returned.
        code: i32,
        /// In the words of the library.
        why: String,
    },
    /// A message is longer than MPI counts.
    #[error("a message of {n_bytes} bytes is too long for MPI; send it in parts below 2 GiB")]
    TooLong {
        /// Its length.
        n_bytes: usize,
    },
}

/// Checks how many elements were given.
pub(crate) fn wanted(call: &'static str, given: usize, wanted: usize) -> Result<(), MpiError> {
    if given == wanted { Ok(()) } else { Err(MpiError::Length { call, given, wanted }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results with a more aligned error are moved through the stack by instructions that fault, in release builds of
    /// compilers on LLVM 22 and older (record 0022): a lost rank took all others with it.
    #[test]
    fn an_error_is_aligned_as_a_word() {
        assert_eq!(align_of::<MpiError>(), align_of::<u64>());
    }
}
