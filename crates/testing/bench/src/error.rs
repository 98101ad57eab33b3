//! Errors of measurements.

use std::path::PathBuf;

/// Error of a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BenchError {
    /// The probe or the launcher was not built.
    #[error("`{}` is missing: build it with `make bench`", .0.display())]
    NotBuilt(PathBuf),
    /// A file or folder could not be used.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A command could not be started.
    #[error("cannot start `{command}`")]
    Start {
        /// Command in words.
        command: String,
        /// Cause.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("`{command}` failed ({status}): {output}")]
    Failed {
        /// Command in words.
        command: String,
        /// Status with which it ended.
        status: std::process::ExitStatus,
        /// Last lines of its output.
        output: String,
    },
    /// A command ran past its limit.
    #[error("`{command}` did not end within {limit_s} s: is the machine too busy?")]
    Late {
        /// Command in words.
        command: String,
        /// Limit, in s.
        limit_s: u64,
    },
    /// A command did not print a figure.
    #[error("`{command}` printed no figure: {output}")]
    NoFigure {
        /// Command in words.
        command: String,
        /// Last lines of its output.
        output: String,
    },
}
