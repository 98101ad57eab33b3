//! Checkpoint: the state in a file, from which the program continues with any number of ranks.
//!
//! Rank 0 writes it, in pieces that the other ranks send: so no file system shared by all nodes is needed, and no more
//! memory than a piece and the lengths of sparse rows. Rows are in the order of their numbers, whichever rank held
//! them: so any number of ranks can read them. Constant data are in a separate file, which is written once.
//!
//! # Invariants
//! - A file gets its name only when it is complete and on disk: it is written under another name and renamed.
//! - The constant data that a file needs are kept as long as it has its name.

mod file;
mod format;
mod index;
mod reading;
mod writing;

use crate::moving::MoveError;
use mpi::MpiError;
use std::io;
use std::path::PathBuf;

pub(crate) use file::Found;
pub use format::{FileFault, are_checkpoint};
pub(crate) use index::Index;
pub(crate) use reading::load;
pub(crate) use writing::{Constants, remove, save};

/// Returns whether this is the index of a checkpoint with `n_bytes` of variable and of constant data.
#[must_use]
pub fn is_checkpoint_index(text: &[u8], n_bytes: [u64; 2]) -> bool {
    serde_json::from_slice::<Index>(text).is_ok_and(|index| index.describes(n_bytes))
}

/// Size of a piece that is sent and written at once, in bytes.
const PIECE_BYTES: usize = 4 << 20;

/// Error from writing or using a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("the checkpoint `{}` cannot be read or written", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file is not a checkpoint that this program can read.
    #[error("`{}` {fault}", path.display())]
    Unusable {
        /// Path of the file.
        path: PathBuf,
        /// Defect of the file.
        fault: FileFault,
    },
    /// Another program wrote the file, or the same program with other arguments.
    #[error(
        "the checkpoint `{}` was written by `{written_by}`, and this is `{this}`; name another file with `--checkpoint`, or remove it to \
         start anew",
        path.display()
    )]
    Program {
        /// Path of the file.
        path: PathBuf,
        /// Program that wrote it, with its own arguments.
        written_by: String,
        /// This program, with its own arguments.
        this: String,
    },
    /// The file holds other data than the program registers.
    #[error(
        "the checkpoint `{}` holds {held}, and this program registers {registered}; remove it to start anew",
        path.display()
    )]
    Registered {
        /// Path of the file.
        path: PathBuf,
        /// First object in the file that is not registered.
        held: String,
        /// Object registered instead.
        registered: String,
    },
    /// Rank 0 found an error.
    #[error("{why}")]
    Elsewhere {
        /// Error of rank 0, whose own output may be cut off by the end of another rank.
        why: String,
    },
    /// The registered data are inconsistent.
    #[error("the ranks' registered data are inconsistent")]
    State(#[from] MoveError),
    /// An MPI call failed.
    #[error(transparent)]
    Mpi(#[from] MpiError),
}
