//! Why a system was not solved.

use crate::market::MarketError;
use malleable::OptionsError;
use mpi::MpiError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a system was not solved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CgError {
    /// There is no such argument.
    #[error("`{argument}` is no option; `--help` lists them")]
    Unknown {
        /// The argument.
        argument: String,
    },
    /// An option lacks its value.
    #[error("`{option}` has no value; write `{option} {expected}`")]
    NoValue {
        /// The option.
        option: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The value of an option is none.
    #[error("`{option} {value}` is not understood; write `{option} {expected}`")]
    Value {
        /// The option.
        option: String,
        /// Its value.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// Neither a file nor a model was named, or both.
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
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The method needs another kind of matrix.
    #[error(
        "the matrix is not positive definite: after {n_iterations} iterations a direction has the curvature {curvature:e}; \
         give another matrix, conjugate gradients do not solve this one"
    )]
    NotPositive {
        /// Iterations so far.
        n_iterations: u64,
        /// `d A d`, which should be above 0.
        curvature: f64,
    },
    /// A call of MPI failed.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// An option of the library is wrong.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The number of ranks cannot be changed.
    #[error(transparent)]
    Malleable(#[from] malleable::Error),
    /// The reason is told by another rank.
    #[error("rank {rank} says why; look at what it wrote")]
    Elsewhere {
        /// The one that tells it.
        rank: usize,
    },
}

impl CgError {
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.to_owned(), source }
    }

    /// Whether there is no launcher, so that there is no MPI.
    pub(crate) fn is_alone(&self) -> bool {
        let alone = MpiError::NoLauncher;
        match self {
            Self::Mpi(error) | Self::Malleable(malleable::Error::Mpi(error)) => *error == alone,
            _ => false,
        }
    }

    /// The line of a file that it is about; 0 when it is about none.
    fn line(&self) -> u64 {
        match self {
            Self::Market(MarketError::Line { line, .. }) => *line,
            _ => 0,
        }
    }
}

/// Either all ranks go on or none: of those that failed the one with the first line keeps its error, and the others
/// learn which rank that is.
///
/// # Errors
/// When one of the ranks failed, or MPI does.
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
