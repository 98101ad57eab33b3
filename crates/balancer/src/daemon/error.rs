//! Why there is no daemon.

use crate::door::DoorError;
use crate::journal::{FormatError, JournalError};
use crate::keeper::KeeperClientError;

/// Why a daemon cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// Its folder or its door.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// Its journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A record that cannot be written.
    #[error(transparent)]
    Record(#[from] FormatError),
    /// It cannot take part in its cluster.
    #[error(transparent)]
    Links(#[from] crate::links::LinkError),
    /// Its number of starts.
    #[error(transparent)]
    Incarnation(#[from] crate::members::IncarnationError),
    /// Another node has its name.
    #[error("{sentence}")]
    NameTaken {
        /// Which, and what to do.
        sentence: String,
    },
    /// Its name.
    #[error(transparent)]
    Name(#[from] balanced::NameError),
    /// Its keeper.
    #[error(transparent)]
    Keeper(#[from] KeeperClientError),
}
