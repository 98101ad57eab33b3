//! Errors of creating, opening or reading a run record.

use crate::file_error::FileError;
use crate::summary::FORMAT_VERSION;
use std::path::PathBuf;
use thiserror::Error;

/// Failure to create, open or read a run record.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The folder does not exist.
    #[error("`{0}` is not a folder: give the one that `sintonia run` named")]
    NotThere(PathBuf),
    /// The folder exists but is not a record.
    #[error(
        "`{0}` is not a run record, it has no `run.json`: give the folder that `sintonia run` named"
    )]
    NotARecord(PathBuf),
    /// The folder for a new record is not empty.
    #[error("`{0}` is not empty: give a new folder or an empty one")]
    NotEmpty(PathBuf),
    /// A newer version of Sintonia wrote the record.
    #[error(
        "`{dir}` has format version {found}, this program reads up to {FORMAT_VERSION}: read it with a newer Sintonia"
    )]
    NewerFormat {
        /// Folder given by the user.
        dir: PathBuf,
        /// Format version of the record.
        found: u32,
    },
    /// The run did not finish, and no preliminary summary was written.
    #[error(
        "`{0}` has no summary because its run did not finish: its measurements are in `spool/`"
    )]
    NoSummary(PathBuf),
    /// The existing summary would be replaced by one with less information.
    #[error("`{path}` has more information about the run ({what}): it is not replaced")]
    WouldLoseInformation {
        /// Path of the summary.
        path: PathBuf,
        /// Information that would be lost.
        what: String,
    },
    /// A JSON file has unexpected content.
    #[error("`{path}` is damaged or was not written by Sintonia: restore it from a copy")]
    NotJson {
        /// Path of the file.
        path: PathBuf,
        /// Error of the JSON parser, with its position.
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}
