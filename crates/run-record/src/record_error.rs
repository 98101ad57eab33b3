//! A run record that cannot be made, opened or read.

use crate::file_error::FileError;
use crate::summary::FORMAT_VERSION;
use std::path::PathBuf;
use thiserror::Error;

/// A run record that cannot be made, opened or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Nothing is there.
    #[error("`{dir}` is not a folder: give the one that `sintonia run` named")]
    NotThere {
        /// The folder asked for.
        dir: PathBuf,
    },
    /// Something else is there.
    #[error(
        "`{dir}` is not a run record, it has no `run.json`: give the folder that `sintonia run` named"
    )]
    NotARecord {
        /// The folder asked for.
        dir: PathBuf,
    },
    /// The folder for a new record is in use.
    #[error("`{dir}` is not empty: give a new folder or an empty one")]
    NotEmpty {
        /// The folder asked for.
        dir: PathBuf,
    },
    /// A newer version of Sintonia wrote it.
    #[error(
        "`{dir}` has format version {found}, this program reads up to {FORMAT_VERSION}: read it with a newer Sintonia"
    )]
    NewerFormat {
        /// The folder asked for.
        dir: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The run did not finish, and no early summary was written.
    #[error(
        "`{dir}` has no summary because its run did not finish: its measurements are in `spool/`"
    )]
    NoSummary {
        /// The folder.
        dir: PathBuf,
    },
    /// The summary that is there would be replaced by one that knows less.
    #[error("`{path}` knows more of the run ({what}): it is kept as it is")]
    KnowsMore {
        /// The file.
        path: PathBuf,
        /// What would be lost.
        what: String,
    },
    /// A JSON file that does not say what it should.
    #[error("`{path}` is damaged or was not written by Sintonia: restore it from a copy")]
    NotJson {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense.
        source: serde_json::Error,
    },
    /// A file that could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}
