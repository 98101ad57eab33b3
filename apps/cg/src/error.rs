//! Errors of a run.

use crate::market::MarketError;
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
