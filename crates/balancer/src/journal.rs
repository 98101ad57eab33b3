//! The book of a node on disk: records, one behind the other, from which a daemon that was killed goes on.
//!
//! A file is a header, then for each record its length and its CRC-32 in four bytes each, little-endian, and
//! itself in `postcard`'s encoding. The first record names the node. Records that are killed half way, or whose
//! bytes are not what was written, end the file: they and what follows are moved to `journal.damaged`.
//!
//! Records are written in groups ([`Writer`]). When the file is twice as long as after it was written anew last,
//! it is written anew from the book.
//!
//! # Invariants
//! - What is read is a beginning of what was written, whatever happened to the bytes.
//! - The old file is whole until the new one is on disk under its name.
//!
//! # Not here
//! What records mean (`book`), and what waits for the disk (`daemon`).

mod file;
mod format;
mod writer;

use std::io;
use std::path::PathBuf;

pub use file::{Damage, Opened, open};
pub use format::{FormatError, RECORD_BYTES_MAX, encode, read};
pub use writer::{Durability, Writer, WriterNews};

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
