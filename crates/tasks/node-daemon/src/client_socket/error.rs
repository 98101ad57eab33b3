//! Errors of the door, on both sides.

use std::{io, path::PathBuf};

/// Reasons why the door of a node cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientSocketError {
    /// Another daemon serves the folder.
    #[error("the node {by} already serves `{}`; stop it with `sintonia node stop`, or use another folder with `--state`", state.display())]
    Taken {
        /// State folder.
        state: PathBuf,
        /// Name and process of the other daemon.
        by: String,
    },
    /// A file of the folder cannot be used.
    #[error("cannot use `{}`; check that its folder is yours, has room, and that its path is not longer than 100 bytes", path.display())]
    Folder {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Other users could enter the folder.
    #[error("others can enter the folder `{}` (mode {mode:o}); run `chmod 700 {}`", path.display(), path.display())]
    Open {
        /// Path of the folder.
        path: PathBuf,
        /// Mode of the folder.
        mode: u32,
    },
    /// The folder belongs to another user.
    #[error("the folder `{}` belongs to user {uid}, not to you; use another with `--state`", path.display())]
    Owner {
        /// Path of the folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// No variable tells where the state folder should be.
    #[error(
        "neither `XDG_STATE_HOME` nor `HOME` is set; say where to keep the node's state with `--state`"
    )]
    Nowhere,
}

/// Reasons why a client gets no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No daemon listens at the socket.
    #[error("no daemon listens at `{}`; start one with `sintonia node start`, or name its socket in `SINTONIA_NODE`", socket.display())]
    NoDaemon {
        /// Path of the socket.
        socket: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The daemon ended, or was killed.
    #[error(
        "the daemon ended before it answered; tasks that it had named are safe and run when it is started again"
    )]
    Ended(#[source] io::Error),
    /// The daemon is of another version.
    #[error(
        "the daemon and this program are of different versions; restart it with `sintonia node stop` and `sintonia node start`"
    )]
    Version,
    /// The daemon refused the request.
    #[error("{sentence}")]
    Refused {
        /// Reason and remedy, for the user.
        sentence: String,
    },
    /// The request is too long.
    #[error("a request of {n_bytes} bytes is longer than the {max} that a daemon reads; submit less at once", max = super::REQUEST_BYTES_MAX)]
    TooLong {
        /// Length of the request in bytes.
        n_bytes: usize,
    },
}
