//! A file of the record that could not be read or written.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file of the record that could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file system has no room left, or the user's quota has none.
    #[error("no room left to write `{path}`: free space or put the record on another file system")]
    StorageFull {
        /// The file being written.
        path: PathBuf,
    },
    /// It is not as it was written.
    #[error("`{path}` is damaged, it is not what was written: restore it from a copy or run again")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("`{path}` cannot be read or written: check that it exists and who may access it")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl FileError {
    /// Names the file of an error.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::StorageFull { path },
            _ => Self::Io { path, source },
        }
    }

    /// Whether room on the disk is all that is missing.
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Self::StorageFull { .. })
    }
}
