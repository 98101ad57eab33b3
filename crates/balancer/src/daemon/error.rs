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
    /// Its keeper.
    #[error(transparent)]
    Keeper(#[from] KeeperClientError),
}
