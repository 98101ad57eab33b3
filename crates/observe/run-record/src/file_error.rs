//! Error of reading or writing a file of the record.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Failure to read or write a file of the record.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file system is full, or the user's quota is exhausted.
    #[error("no room left to write `{0}`: free space or put the record on another file system")]
    StorageFull(PathBuf),
    /// The content differs from what was written.
    #[error("`{0}` is damaged: its checksum does not match; restore it from a copy or run again")]
    Damaged(PathBuf),
    /// Any other error.
    #[error("`{path}` cannot be read or written: check that it exists and who may access it")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl FileError {
    /// Adds the file's path to an error.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::StorageFull(path),
            _ => Self::Io { path, source },
        }
    }

    /// Returns whether the only problem is lack of disk space.
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Self::StorageFull { .. })
    }
}
