//! Why ranks could not communicate.

use mpi::MpiError;
use std::time::Duration;

/// A message, a collective operation or a change of the group failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// A rank ended without leaving.
    #[error("rank `{rank}` is gone: it ended without leaving; deal its work again or stop")]
    Gone {
        /// Which one.
        rank: u32,
    },
    /// A rank that is not connected with this one was addressed.
    #[error(
        "rank `{rank}` is not present: address only ranks that are connected with rank `{own}` and did not leave"
    )]
    NotPresent {
        /// The addressed rank.
        rank: u32,
        /// This rank.
        own: u32,
    },
    /// Something did not happen in time.
    #[error(
        "waited {} ms in vain for {what} of rank `{rank}`; see whether it still runs, or allow more time",
        waited.as_millis()
    )]
    Late {
        /// What was awaited.
        what: &'static str,
        /// Of whom.
        rank: u32,
        /// How long.
        waited: Duration,
    },
    /// The receiver took no messages until the bound of buffered ones was met.
    #[error(
        "{n_bytes} bytes are waiting for rank `{rank}`, which takes none; send less before it answers"
    )]
    NoRoom {
        /// The receiver.
        rank: u32,
        /// Bytes that are buffered for it.
        n_bytes: usize,
    },
    /// The program was not started as a rank.
    #[error(
        "this process was not started by an MPI launcher; start it with `mpirun -n 4 PROGRAM`, or use threads"
    )]
    NoLauncher,
    /// This process was started to take part in another group of the program.
    #[error(
        "this process was started for an earlier or a later run of the program, and has nothing to do in this one"
    )]
    OtherTurn,
    /// MPI was ended before.
    #[error("MPI was finalized in this process already; make one transport and keep it to the end")]
    Finalized,
    /// The library was not found, or one of its calls failed.
    #[error(transparent)]
    Mpi(MpiError),
    /// A call did not return in time, so that no other can be made.
    #[error("`{call}` did not return; MPI is of no more use in this process: end it")]
    Stuck {
        /// Which call.
        call: &'static str,
    },
    /// The system gave no thread for a call, which was not made.
    #[error("no thread could be started for `{call}`: {why}; see `ulimit -u`")]
    NoThread {
        /// Which call.
        call: &'static str,
        /// Why.
        why: String,
    },
    /// Ranks cannot be added here.
    #[error("no rank can be added: {why}")]
    CannotSpawn {
        /// Why, and what would help.
        why: String,
    },
}

impl From<MpiError> for CommError {
    fn from(error: MpiError) -> Self {
        match error {
            MpiError::NoLauncher => Self::NoLauncher,
            MpiError::Finalized => Self::Finalized,
            other => Self::Mpi(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results with a more aligned error are moved through the stack by instructions that fault, in release builds of
    /// compilers on LLVM 22 and older (record 0022): a lost rank took all others with it.
    #[test]
    fn an_error_is_aligned_as_a_word() {
        assert_eq!(align_of::<CommError>(), align_of::<u64>());
    }
}
