//! Errors of a run.

use crate::checkpoint::CheckpointError;
use crate::message::MessageError;
use crate::network::NetworkFileError;
use crate::options::OptionsError;
use crate::program::BoxError;
use crate::report_file::ReportFileError;
use comm::CommError;
use std::error::Error as _;
use std::fmt;
use std::ops::Range;

/// Error of a run. When `main` returns it, the program prints it as a sentence with its causes.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is not valid.
    #[error("the options of the run are wrong")]
    Options(#[from] OptionsError),
    /// The ranks cannot communicate.
    #[error("the ranks of the run cannot communicate")]
    Comm(#[from] CommError),
    /// A value cannot be sent.
    #[error("a message between master and workers failed")]
    Message(#[from] MessageError),
    /// The checkpoint cannot be written or read.
    #[error("the checkpoint failed")]
    Checkpoint(#[from] CheckpointError),
    /// The report cannot be written.
    #[error("the run is done, but its report is not written")]
    Report(#[from] ReportFileError),
    /// The file of `--network` cannot be used.
    #[error("the network file cannot be used")]
    Network(#[from] NetworkFileError),
    /// The user's code panicked for the same tasks at every attempt.
    #[error(
        "tasks `{}` to `{}` of iteration `{iteration}` panicked {n_attempts} times, last on rank `{rank}`: {message}",
        tasks.start, tasks.end - 1
    )]
    Panicked {
        /// Tasks of the chunk; the task at fault is one of them.
        tasks: Range<u64>,
        /// Iteration, counted from 0.
        iteration: u64,
        /// Rank of the last attempt.
        rank: u32,
        /// Number of attempts.
        n_attempts: u32,
        /// Message of the panic.
        message: String,
    },
    /// A worker cannot continue.
    #[error("rank `{rank}` cannot go on: {why}")]
    Worker {
        /// Rank of the worker.
        rank: u32,
        /// Error as the worker reported it.
        why: String,
    },
    /// The first iteration has no shared data.
    #[error(
        "iteration `{iteration}` says that its shared data are unchanged, but there are none yet; begin with `Iteration::new`"
    )]
    NothingShared {
        /// Number of the iteration.
        iteration: u64,
    },
    /// The run was canceled.
    #[error(
        "the run was canceled in iteration `{iteration}`; `--resume` goes on from its checkpoint, if it has one"
    )]
    Canceled {
        /// Unfinished iteration, counted from 0.
        iteration: u64,
    },
    /// The master is gone or silent.
    #[error(
        "rank `{rank}` received nothing from the master for {waited_s:.0} s, or the master has ended; see the output of rank 0"
    )]
    NoMaster {
        /// Rank of the waiting worker.
        rank: u32,
        /// Time that the worker has waited, in seconds.
        waited_s: f64,
    },
    /// A message is not valid in this version.
    #[error("rank `{from}` sent an unknown message; run the same program on all ranks")]
    Unknown {
        /// Rank that sent it.
        from: u32,
    },
    /// The thread of a rank could not be started.
    #[error("a thread for a worker cannot be started; use fewer with `--threads`")]
    Thread(#[source] std::io::Error),
    /// The user's own code failed.
    #[error("the program failed")]
    Program(#[source] BoxError),
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = std::iter::successors(self.source(), |cause| (*cause).source());
        formatter
            .write_str(&causes.fold(self.to_string(), |text, cause| format!("{text}: {cause}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_sentence_with_its_causes() {
        let error = Error::from(OptionsError::NoFile);
        let expected = "the options of the run are wrong: `--resume` needs `--checkpoint FILE`, the file to go on from";
        assert_eq!(format!("{error:?}"), expected);
    }
}
