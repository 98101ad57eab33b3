//! Errors of a run, and of the files that it reads.

use mpi::MpiError;
use option_table::ArgumentError;
use std::io;
use std::path::{Path, PathBuf};

/// Error of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CgError {
    /// An argument is not valid.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Neither a file nor a model was named, or more than one.
    #[error("there is {found} matrix; name one file, or `--generate {}`", crate::generate::MODELS)]
    NoMatrix {
        /// `no`, or `more than one`.
        found: &'static str,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Market(#[from] MarketError),
    /// A file cannot be written.
    #[error("`{}` cannot be written; name a file in a folder that has room", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The matrix is not positive definite.
    #[error(
        "the matrix is not positive definite: after {n_iterations} iterations a direction has the curvature {curvature:e}; \
         give another matrix, conjugate gradients do not solve this one"
    )]
    NotPositive {
        /// Number of iterations so far.
        n_iterations: u64,
        /// `d A d`, which should be above 0.
        curvature: f64,
    },
    /// An MPI call failed.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// The number of ranks cannot be changed.
    #[error(transparent)]
    Malleable(#[from] malleable::Error),
    /// Another rank reports the reason.
    #[error("rank {rank} reports the reason; see its output")]
    Elsewhere {
        /// Rank that reports it.
        rank: usize,
    },
}

impl CgError {
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.to_owned(), source }
    }

    /// Returns whether there is no launcher, and so no MPI.
    pub(crate) fn is_alone(&self) -> bool {
        let alone = MpiError::NoLauncher;
        match self {
            Self::Mpi(error) | Self::Malleable(malleable::Error::Mpi(error)) => *error == alone,
            _ => false,
        }
    }

    /// Line of a file that the error refers to; 0 if none.
    pub(crate) fn line(&self) -> u64 {
        match self {
            Self::Market(MarketError::Line { line, .. }) => *line,
            _ => 0,
        }
    }
}

/// Error of a Matrix Market file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; check its name, and that every node sees it", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A line is not valid.
    #[error("line {line} of `{}` is not understood; write {expected}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// Description of what was expected.
        expected: &'static str,
    },
    /// The file has another kind of matrix.
    #[error(
        "`{}` holds a matrix of the kind `{kind}`; convert it to `coordinate`, `real`, `integer` or `pattern`, and \
         `general` or `symmetric`",
        path.display()
    )]
    Kind {
        /// Path of the file.
        path: PathBuf,
        /// Kind in its first line.
        kind: String,
    },
    /// The matrix is not square, or is too large.
    #[error(
        "`{}` holds a matrix of {n_rows} rows and {n_columns} columns; give a square one of at most {} rows",
        path.display(),
        u32::MAX
    )]
    Shape {
        /// Path of the file.
        path: PathBuf,
        /// Number of rows.
        n_rows: u64,
        /// Number of columns.
        n_columns: u64,
    },
    /// The file ends early, or has more entries than its head states.
    #[error("`{}` has {found} entries where its head says {expected}; get the whole file again", path.display())]
    Count {
        /// Path of the file.
        path: PathBuf,
        /// Number of entries in the head.
        expected: u64,
        /// Number of entries found.
        found: u64,
    },
    /// The file has an entry twice.
    #[error(
        "`{}` has more than one entry for row {row} and column {column}; add them up, and in a symmetric file write one of \
         both halves",
        path.display()
    )]
    Twice {
        /// Path of the file.
        path: PathBuf,
        /// Row, from 1.
        row: u64,
        /// Column, from 1.
        column: u64,
    },
    /// The matrix is not symmetric.
    #[error(
        "`{}` holds a matrix that is not symmetric; give a symmetric one, conjugate gradients solve no other",
        path.display()
    )]
    NotSymmetric {
        /// Path of the file.
        path: PathBuf,
    },
    /// A vector has another length.
    #[error("`{}` has {found} numbers; write one for each of the {expected} rows", path.display())]
    Length {
        /// Path of the file.
        path: PathBuf,
        /// Number of rows.
        expected: u64,
        /// Number of numbers found.
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
