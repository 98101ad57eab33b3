//! Errors of a daemon.

use crate::client_socket::ClientSocketError;
use crate::journal::{FormatError, JournalError};
use crate::keeper::KeeperClientError;

/// Reasons why a daemon cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// Error of the state folder or the door.
    #[error(transparent)]
    ClientSocket(#[from] ClientSocketError),
    /// Error of the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A record cannot be written.
    #[error(transparent)]
    Record(#[from] FormatError),
    /// The node cannot take part in its cluster.
    #[error(transparent)]
    Links(#[from] crate::links::LinkError),
    /// The daemon's incarnation cannot be read or written.
    #[error(transparent)]
    Incarnation(#[from] crate::members::IncarnationError),
    /// Another node has this one's name.
    #[error("{sentence}")]
    NameTaken {
        /// Name of the other node, and what to do.
        sentence: String,
    },
    /// The name of the node is invalid.
    #[error(transparent)]
    Name(#[from] task_api::NameError),
    /// Error of the keeper.
    #[error(transparent)]
    Keeper(#[from] KeeperClientError),
}
