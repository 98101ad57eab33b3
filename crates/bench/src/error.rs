//! Why a measurement could not be made.

use std::path::PathBuf;

/// A measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BenchError {
    /// The probe or the launcher was not built.
    #[error("`{}` is missing: build it with `make bench`", .0.display())]
    NotBuilt(PathBuf),
    /// A file or folder could not be used.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A command could not be started.
    #[error("cannot start `{command}`")]
    Start {
        /// Which.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("`{command}` failed ({status}): {output}")]
    Failed {
        /// Which.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it said last.
        output: String,
    },
    /// A command ran past its limit.
    #[error("`{command}` did not end within {limit_s} s: is the machine too busy?")]
    Late {
        /// Which.
        command: String,
        /// Its limit.
        limit_s: u64,
    },
    /// A command did not print a figure.
    #[error("`{command}` printed no figure: {output}")]
    NoFigure {
        /// Which.
        command: String,
        /// What it said last.
        output: String,
    },
}
