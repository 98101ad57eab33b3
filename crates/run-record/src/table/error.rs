//! A Parquet file that could not be read or written.

use crate::file_error::FileError;
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// A Parquet file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file that could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content is not what Sintonia writes.
    #[error("`{path}` is damaged or was not written by Sintonia: restore it from a copy")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the Parquet library says.
        source: ParquetError,
    },
    /// A column that this version needs is missing.
    #[error("`{path}` has no column `{column}`: it was not written by Sintonia")]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A row or a column outside what the file has.
    #[error("`{path}` has no row group {group}: ask for one of its {n_groups}")]
    NoGroup {
        /// The file.
        path: PathBuf,
        /// The group asked for.
        group: usize,
        /// How many there are.
        n_groups: usize,
    },
    /// The file that is there has more rows than the one that would replace it.
    #[error("`{path}` holds {n_kept} rows and would be replaced by {n_rows}: it is kept as it is")]
    HoldsMore {
        /// The file.
        path: PathBuf,
        /// Its rows.
        n_kept: u64,
        /// Rows of the other.
        n_rows: u64,
    },
}

impl TableError {
    /// Whether room on the disk is all that is missing.
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
