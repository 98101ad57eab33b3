//! Why a checkpoint cannot be written or used.

use crate::moving::MoveError;
use mpi::MpiError;
use std::io;
use std::path::PathBuf;

/// Why a checkpoint cannot be written or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file system refuses.
    #[error("the checkpoint `{}` cannot be read or written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is some other file.
    #[error("`{}` is no checkpoint; name another file with `--checkpoint`", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another version of this library has written it.
    #[error(
        "the checkpoint `{}` has version {found}, and this program reads version {known}; go on with the program that wrote it, or \
         remove it to start anew",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The one that is known.
        known: u64,
    },
    /// Its end is missing.
    #[error("the checkpoint `{}` is cut off; remove it to start anew", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// What it holds is not what was written.
    #[error("the checkpoint `{}` is damaged; remove it to start anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Another program has written it, or the same with other words.
    #[error(
        "the checkpoint `{}` was written by `{written_by}`, and this is `{this}`; name another file with `--checkpoint`, or remove it to \
         start anew",
        path.display()
    )]
    Program {
        /// The file.
        path: PathBuf,
        /// The program that wrote it, with its own arguments.
        written_by: String,
        /// This one.
        this: String,
    },
    /// It holds other data than the program registers.
    #[error(
        "the checkpoint `{}` holds {held}, and this program registers {registered}; remove it to start anew",
        path.display()
    )]
    Registered {
        /// The file.
        path: PathBuf,
        /// What it holds first that is not registered.
        held: String,
        /// What is registered instead.
        registered: String,
    },
    /// Rank 0 has found something wrong.
    #[error("{why}")]
    Elsewhere {
        /// What it says: its own output may be cut off by the end of another rank.
        why: String,
    },
    /// What is registered does not fit together.
    #[error("the state cannot be put in order")]
    State(#[from] MoveError),
    /// A call failed.
    #[error(transparent)]
    Mpi(#[from] MpiError),
}

impl CheckpointError {
    /// The sentence, with what caused it.
    pub(crate) fn with_causes(&self) -> String {
        let causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        causes.fold(self.to_string(), |text, cause| format!("{text}: {cause}"))
    }
}
