//! The book of a node on disk: records, one behind the other, from which a daemon that was killed goes on.
//!
//! A file is a header, a block that names the node, and then one block for each record in `postcard`'s encoding
//! (`blocks`): where bytes are damaged, reading goes on behind them. Records that are missing are *doubted* about: tasks
//! that they may have been of wait until nobody else can run them ([`crate::book::Book::n_doubted`]). The file as it was
//! found is kept as `journal.damaged`, and the journal is written anew from what could be read.
//!
//! A second file, `journal.mark`, says how far the journal had come, so that an end that is missing is noticed, and
//! which numbers may have been given out, so that none is given out twice.
//!
//! Records are written in groups ([`Writer`]). When the file is twice as long as after it was written anew last,
//! it is written anew from the book.
//!
//! # Invariants
//! - What is read was written; what was written is read, unless its own bytes were damaged.
//! - That records are missing is noticed, except for those that a killed daemon was writing, of which nobody was told.
//! - No number of a task is given out twice, whatever happened to one of the two files.
//! - The old file is whole until the new one is on disk under its name.
//!
//! # Not here
//! What records mean (`book`), and what waits for the disk (`daemon`).

mod file;
mod format;
mod mark;
mod old;
mod writer;

use std::io;
use std::path::PathBuf;

pub use file::{Damage, Opened, open};
pub use format::{Contents, Encoder, Entry, FormatError, NotRead, RECORD_BYTES_MAX, read};
pub use writer::{Durability, Reach, Writer, WriterNews};

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A file cannot be read or written.
    #[error("`{}` cannot be {wanted}: see that its folder can be written to and has room", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        wanted: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// It is none, or of another version.
    #[error("`{}` is no journal of this version: move it away, or use the version that wrote it", path.display())]
    Version {
        /// Which.
        path: PathBuf,
    },
    /// Somebody else's.
    #[error(
        "`{}` belongs to the node `{found}` and not to `{wanted}`: give each node a state folder of its own",
        path.display()
    )]
    OtherNode {
        /// Which.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Who wants it.
        wanted: String,
    },
    /// A daemon uses it.
    #[error("`{}` is in use: a daemon of this node runs already", path.display())]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// The thread that writes could not be started.
    #[error("no thread could be started that writes the journal: raise the limit of processes")]
    Thread {
        /// What the system says.
        source: io::Error,
    },
}
