//! Why a run of bodies failed.

use crate::load::LoadError;
use crate::xyz::XyzError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run of bodies failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NbodyError {
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
    /// Bodies cannot be read or written.
    #[error(transparent)]
    Xyz(#[from] XyzError),
    /// Loads cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file cannot be written.
    #[error("`{}` cannot be written; name a file in a folder that has room", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The checkpoint is one of another run.
    #[error(
        "the checkpoint is of a run of `{saved}`, not `{wished}`; give the same options, or another file"
    )]
    OtherRun {
        /// What was run.
        saved: String,
        /// What shall be run.
        wished: String,
    },
}

impl NbodyError {
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.to_owned(), source }
    }
}
