//! Errors of communication between ranks.

use mpi::MpiError;
use std::time::Duration;

/// Reason why a message, a collective operation or a change of the group failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// A rank ended without leaving.
    #[error("rank `{rank}` ended without leaving the group; reassign its work or stop")]
    Gone {
        /// Rank that is gone.
        rank: u32,
    },
    /// The addressed rank is not connected with this one.
    #[error(
        "rank `{rank}` is not present: address only ranks that are connected with rank `{own}` and did not leave"
    )]
    NotPresent {
        /// The addressed rank.
        rank: u32,
        /// This rank.
        own: u32,
    },
    /// An awaited event did not happen in time.
    #[error(
        "timed out after {} ms waiting for {what} of rank `{rank}`; check that it is running, or raise the timeout",
        waited.as_millis()
    )]
    Late {
        /// Awaited event.
        what: &'static str,
        /// Rank expected to cause it.
        rank: u32,
        /// Time waited.
        waited: Duration,
    },
    /// The receiver takes no messages, and the limit on buffered bytes is reached.
    #[error(
        "{n_bytes} bytes are queued for rank `{rank}`, which does not receive them; wait for its replies before sending more"
    )]
    NoRoom {
        /// Rank of the receiver.
        rank: u32,
        /// Number of bytes buffered.
        n_bytes: usize,
    },
    /// The process was not started by an MPI launcher.
    #[error(
        "this process was not started by an MPI launcher; start it with `mpirun -n 4 PROGRAM`, or use threads"
    )]
    NoLauncher,
    /// This process was started to join another group of the program.
    #[error(
        "this process was started for an earlier or a later run of the program, and has nothing to do in this one"
    )]
    OtherGroup,
    /// MPI was finalized earlier.
    #[error(
        "MPI was already finalized in this process; create one transport and keep it until exit"
    )]
    Finalized,
    /// The MPI library was not found, or one of its calls failed.
    #[error(transparent)]
    Mpi(MpiError),
    /// An MPI call did not return in time, so that no further calls are possible.
    #[error("`{call}` did not return; MPI cannot be used any more in this process: exit")]
    Stuck {
        /// Name of the call.
        call: &'static str,
    },
    /// The system could not start a thread for a call, which therefore was not made.
    #[error("no thread could be started for `{call}`: {why}; see `ulimit -u`")]
    NoThread {
        /// Name of the call.
        call: &'static str,
        /// Message of the system.
        why: String,
    },
    /// Ranks cannot be added to this group.
    #[error("no rank can be added: {why}")]
    CannotSpawn {
        /// Reason, and a remedy.
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

    /// Release builds by compilers on LLVM 22 and older move results with a more aligned error through the stack by
    /// instructions that fault (record 0022): a lost rank crashed all others.
    #[test]
    fn an_error_is_aligned_as_a_word() {
        assert_eq!(align_of::<CommError>(), align_of::<u64>());
    }
}
