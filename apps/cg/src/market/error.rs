//! Why a Matrix Market file cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why a Matrix Market file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// The system does not let it be read.
    #[error("`{}` cannot be read; check its name, and that every node sees it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("line {line} of `{}` is not understood; write {expected}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What should be there.
        expected: &'static str,
    },
    /// The file is of another kind.
    #[error(
        "`{}` holds a matrix of the kind `{kind}`; convert it to `coordinate`, `real`, `integer` or `pattern`, and \
         `general` or `symmetric`",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
        /// What its first line says.
        kind: String,
    },
    /// Its sides differ, or are too long.
    #[error(
        "`{}` holds a matrix of {n_rows} rows and {n_columns} columns; give a square one of at most {} rows",
        path.display(),
        u32::MAX
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// Rows.
        n_rows: u64,
        /// Columns.
        n_columns: u64,
    },
    /// It ends early, or has more than it says.
    #[error("`{}` has {found} entries where its head says {expected}; get the whole file again", path.display())]
    Count {
        /// The file.
        path: PathBuf,
        /// What the head says.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// An entry is there twice.
    #[error(
        "`{}` has more than one entry for row {row} and column {column}; add them up, and in a symmetric file write one of \
         both halves",
        path.display()
    )]
    Twice {
        /// The file.
        path: PathBuf,
        /// From 1.
        row: u64,
        /// From 1.
        column: u64,
    },
    /// The matrix is not symmetric.
    #[error(
        "`{}` holds a matrix that is not symmetric; give a symmetric one, conjugate gradients solve no other",
        path.display()
    )]
    NotSymmetric {
        /// The file.
        path: PathBuf,
    },
    /// A vector has another length.
    #[error("`{}` has {found} numbers; write one for each of the {expected} rows", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Rows.
        expected: u64,
        /// What there is.
        found: u64,
    },
}

impl MarketError {
    pub(crate) fn read(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn line(path: &Path, line: u64, expected: &'static str) -> Self {
        Self::Line { path: path.to_owned(), line, expected }
    }
}
