//! Errors of exports.

use run_record::{FileError, RecordError, TableError};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Reason why an export failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// There are no events to export.
    #[error("`{0}` has no events: run again with `--trace`")]
    NotTraced(PathBuf),
    /// There are no samples to export.
    #[error("`{0}` has no samples: run again with `--sample`")]
    NotSampled(PathBuf),
    /// The record has events, but none of this world.
    #[error("`{dir}` has no events of world {world}: give one of its worlds")]
    NoSuchWorld {
        /// Folder of the record.
        dir: PathBuf,
        /// Number of the requested world.
        world: u32,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The events cannot be read.
    #[error(transparent)]
    Events(#[from] TableError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The output cannot be written.
    #[error("the export cannot be written: look at where it goes")]
    Write(#[from] io::Error),
}
