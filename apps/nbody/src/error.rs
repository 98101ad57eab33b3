//! Errors of a run.

use crate::load::LoadError;
use crate::xyz::XyzError;
use option_table::ArgumentError;
use std::io;
use std::path::{Path, PathBuf};

/// Error of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NbodyError {
    /// An argument is not valid.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Bodies cannot be read or written.
    #[error(transparent)]
    Xyz(#[from] XyzError),
    /// Loads cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file cannot be written.
    #[error("`{}` cannot be written; name a file in a folder that has room", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The checkpoint belongs to another run.
    #[error(
        "the checkpoint is of a run of `{saved}`, not `{wished}`; give the same options, or another file"
    )]
    OtherRun {
        /// Run of the checkpoint.
        saved: String,
        /// Requested run.
        wished: String,
    },
}

impl NbodyError {
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.to_owned(), source }
    }
}
