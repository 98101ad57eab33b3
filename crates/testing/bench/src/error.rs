//! Errors of measurements.

use std::io;
use std::path::{Path, PathBuf};

/// Error of a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BenchError {
    /// A program of this repository was not built.
    #[error("`{}` is missing: build it with `make bench`", .0.display())]
    NotBuilt(PathBuf),
    /// A file or folder could not be used.
    #[error("cannot use `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A command could not be started.
    #[error("cannot start `{command}`")]
    Start { command: String, source: io::Error },
    /// A command failed; `output` has its last lines.
    #[error("`{command}` failed ({status}): {output}")]
    Failed { command: String, status: std::process::ExitStatus, output: String },
    /// A command ran past its limit.
    #[error("`{command}` did not end within {limit_s} s: is the machine too busy?")]
    Late { command: String, limit_s: u64 },
    /// A command did not print a figure; `output` has its last lines.
    #[error("`{command}` printed no figure: {output}")]
    NoFigure { command: String, output: String },
}

impl BenchError {
    /// Makes the error of a file or folder.
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        |source| Self::File { path: path.to_owned(), source }
    }
}
