//! Why a run failed.

use crate::checkpoint::CheckpointError;
use crate::message::MessageError;
use crate::network::NetworkFileError;
use crate::options::OptionsError;
use crate::program::BoxError;
use crate::written::ReportFileError;
use comm::CommError;
use std::error::Error as _;
use std::fmt;
use std::ops::Range;

/// Why a run failed. Where `main` returns it, the program prints it as a sentence.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option cannot be used.
    #[error("the options of the run are wrong")]
    Options(#[from] OptionsError),
    /// Ranks could not communicate.
    #[error("the ranks of the run cannot communicate")]
    Comm(#[from] CommError),
    /// A value could not be sent.
    #[error("a message between master and workers failed")]
    Message(#[from] MessageError),
    /// A checkpoint could not be written or read.
    #[error("the checkpoint failed")]
    Checkpoint(#[from] CheckpointError),
    /// The report could not be written.
    #[error("the run is done, but its report is not written")]
    Report(#[from] ReportFileError),
    /// The file of `--network` cannot be used.
    #[error("what a network costs is not known")]
    Network(#[from] NetworkFileError),
    /// The user's code panicked for the same tasks wherever they were tried.
    #[error(
        "tasks `{}` to `{}` of iteration `{iteration}` panicked {n_attempts} times, last on rank `{rank}`: {message}",
        tasks.start, tasks.end - 1
    )]
    Panicked {
        /// The chunk; the task at fault is one of them.
        tasks: Range<u64>,
        /// In which iteration, counted from 0.
        iteration: u64,
        /// Where it was tried last.
        rank: u32,
        /// How often it was tried.
        n_attempts: u32,
        /// What the panic said.
        message: String,
    },
    /// A worker cannot do anything more.
    #[error("rank `{rank}` cannot go on: {why}")]
    Worker {
        /// Which one.
        rank: u32,
        /// In its own words.
        why: String,
    },
    /// The first iteration has no shared data.
    #[error(
        "iteration `{iteration}` says that its shared data are unchanged, but there are none yet; begin with `Iteration::new`"
    )]
    NothingShared {
        /// Which one.
        iteration: u64,
    },
    /// Somebody canceled the run.
    #[error(
        "the run was canceled in iteration `{iteration}`; `--resume` goes on from its checkpoint, if it has one"
    )]
    Canceled {
        /// The iteration that was not finished, counted from 0.
        iteration: u64,
    },
    /// The rest of the run ended, or says nothing.
    #[error(
        "rank `{rank}` heard nothing of the master for {waited_s:.0} s, or it is gone; see the output of rank 0"
    )]
    NoMaster {
        /// This worker.
        rank: u32,
        /// How long it has waited.
        waited_s: f64,
    },
    /// A message that no master or worker of this version sends.
    #[error("rank `{from}` sent something unknown; run the same program on all ranks")]
    Unknown {
        /// Who sent it.
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
        write!(formatter, "{self}")?;
        let mut source = self.source();
        while let Some(error) = source {
            write!(formatter, ": {error}")?;
            source = error.source();
        }
        Ok(())
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
