//! The state in a file, from which the program goes on with any number of ranks.
//!
//! Rank 0 writes it, in pieces that the others send: so the file needs no file system that all nodes see, and no more memory
//! than a piece and the lengths of sparse rows. Rows lie in the order of their numbers, whoever held them: so any number of
//! ranks can read them. Constant data are in a file of their own, which is written once.
//!
//! # Invariants
//! - A file has its name only when it is complete and on disk: it is written beside and renamed.
//! - The constant data that a file needs stay as long as it has its name.
//!
//! # Not here
//! When it is written and read: `run::saving`.

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

/// Whether these are the two files of a checkpoint, of whatever program.
pub(crate) fn are_whole(variable: &[u8], constants: &[u8]) -> bool {
    format::are_whole(variable, constants)
}

/// Whether this is an index of so many bytes of variable and of constant data.
pub(crate) fn is_index(text: &[u8], n_bytes: [u64; 2]) -> bool {
    serde_json::from_slice::<Index>(text).is_ok_and(|index| index.describes(n_bytes))
}

/// What travels and is written at a time.
const PIECE_BYTES: usize = 4 << 20;
