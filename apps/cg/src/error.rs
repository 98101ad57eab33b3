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
    fn line(&self) -> u64 {
        match self {
            Self::Market(MarketError::Line { line, .. }) => *line,
            _ => 0,
        }
    }
}

/// Agrees whether to continue: either all ranks do or none. Of the ranks that failed, the one with the first line
/// keeps its error, and the others learn its rank.
///
/// # Errors
/// If one of the ranks or MPI failed.
pub(crate) fn agree<T>(group: &impl crate::Group, own: Result<T, CgError>) -> Result<T, CgError> {
    let line = own.as_ref().err().map_or(f64::INFINITY, |error| error.line() as f64);
    let mut lines = vec![f64::INFINITY; group.n_ranks()];
    group.gather(&[line], &vec![1; group.n_ranks()], &mut lines)?;
    let first = lines.iter().copied().fold(f64::INFINITY, f64::min);
    let Some(rank) = lines.iter().position(|line| line.is_finite() && *line <= first) else {
        return own;
    };
    group.end();
    if rank == group.rank() { own } else { Err(CgError::Elsewhere { rank }) }
}
