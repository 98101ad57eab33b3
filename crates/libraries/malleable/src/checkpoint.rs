//! Checkpoint: the state in a file, from which the program continues with any number of ranks.
//!
//! Rank 0 writes it, in pieces that the other ranks send: so no file system shared by all nodes is needed, and no more
//! memory than a piece and the lengths of sparse rows. Rows are in the order of their numbers, whichever rank held
//! them: so any number of ranks can read them. Constant data are in a separate file, which is written once.
//!
//! # Invariants
//! - A file gets its name only when it is complete and on disk: it is written under another name and renamed.
//! - The constant data that a file needs are kept as long as it has its name.
//!
//! # Not here
//! Times of writing and reading: `run::saving`.

mod error;
mod file;
mod format;
mod index;
mod reading;
mod writing;

pub use error::CheckpointError;
pub(crate) use file::Found;
pub(crate) use index::Index;
pub(crate) use reading::load;
pub(crate) use writing::{Constants, remove, save};

/// Returns whether these are the two files of a checkpoint, of any program.
pub(crate) fn are_whole(variable: &[u8], constants: &[u8]) -> bool {
    format::are_whole(variable, constants)
}

/// Returns whether this is an index for `n_bytes` of variable and of constant data.
pub(crate) fn is_index(text: &[u8], n_bytes: [u64; 2]) -> bool {
    serde_json::from_slice::<Index>(text).is_ok_and(|index| index.describes(n_bytes))
}

/// Size of a piece that is sent and written at once, in bytes.
const PIECE_BYTES: usize = 4 << 20;
