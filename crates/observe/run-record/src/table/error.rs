//! Errors of Parquet files.

use crate::file_error::FileError;
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// Failure to read or write a Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content was not written by Sintonia, or is damaged.
    #[error("`{path}` is damaged or was not written by Sintonia: restore it from a copy")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Error of the Parquet library.
        source: ParquetError,
    },
    /// A column that this version needs is missing.
    #[error("`{path}` has no column `{column}`: it was not written by Sintonia")]
    NoColumn {
        /// Path of the file.
        path: PathBuf,
        /// Missing column.
        column: String,
    },
    /// The existing file has more rows than the one that would replace it.
    #[error("`{path}` holds {n_kept} rows and would be replaced by {n_rows}: it is kept as it is")]
    HoldsMore {
        /// Path of the file.
        path: PathBuf,
        /// Number of its rows.
        n_kept: u64,
        /// Number of rows in the replacement.
        n_rows: u64,
    },
}

impl TableError {
    /// Returns whether the only problem is lack of disk space.
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Self::File(file) if file.is_storage_full())
    }

    pub(super) fn new(path: &Path, error: ParquetError) -> Self {
        if let ParquetError::External(cause) = &error
            && let Some(kind) = cause.downcast_ref::<io::Error>().map(io::Error::kind)
            && kind != io::ErrorKind::UnexpectedEof
        {
            return FileError::new(path, io::Error::new(kind, error)).into();
        }
        Self::Damaged { path: path.to_owned(), source: error }
    }
}
