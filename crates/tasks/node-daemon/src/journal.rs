//! Journal of a node: its book on disk as consecutive records, from which a restarted daemon goes on.
//!
//! A file is a header, a block that names the node, and then one block for each record in `postcard`'s encoding
//! (`blocks`): where bytes are damaged, reading goes on behind them. Tasks that missing records may concern are
//! *uncertain*: they wait until no other node can run them. The file as it was
//! found is kept as `journal.damaged`, and the journal is written anew from what could be read.
//!
//! A second file, `journal.mark`, holds the last sequence number of the journal, so that a missing end is noticed,
//! and a bound on the task numbers that may have been given out, so that none is given out twice.
//!
//! Records are written in groups ([`Writer`]). When the file is twice as long as after it was last written anew, it
//! is compacted: written anew from the book.
//!
//! # Invariants
//! - Only what was written is read, and it is read unless its own bytes were damaged.
//! - Missing records are noticed, except for those that a killed daemon was writing, which were not confirmed to
//!   any client.
//! - No task number is given out twice, whatever happened to one of the two files.
//! - The old file stays whole until the new one is on disk under its name.
//!
//! # Not here
//! The meaning of records (`book`), and what waits for the disk (`daemon`).

mod file;
mod format;
mod mark;
mod writer;

use std::io;
use std::path::PathBuf;

pub use file::{FileDamage, OpenJournal, open};
pub use format::{
    Encoder, FormatError, JournalEntry, JournalSummary, NotRead, RECORD_BYTES_MAX, read,
};
pub use writer::{Durability, JournalPosition, Writer, WriterNews};

/// Reasons why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A file cannot be read or written.
    #[error("`{}` cannot be {wanted}: see that its folder can be written to and has room", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Operation that failed.
        wanted: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is no journal, or one of another version.
    #[error("`{}` is no journal of this version: move it away, or use the version that wrote it", .0.display())]
    Version(PathBuf),
    /// The journal belongs to another node.
    #[error(
        "`{}` belongs to the node `{found}` and not to `{wanted}`: give each node a state folder of its own",
        path.display()
    )]
    OtherNode {
        /// Path of the file.
        path: PathBuf,
        /// Name of its node.
        found: String,
        /// Name of the node that wants to use it.
        wanted: String,
    },
    /// A daemon uses the journal.
    #[error("`{}` is in use: a daemon of this node runs already", .0.display())]
    InUse(PathBuf),
    /// The writing thread could not be started.
    #[error("cannot start the thread that writes the journal; raise the limit of processes")]
    Thread(#[source] io::Error),
}
