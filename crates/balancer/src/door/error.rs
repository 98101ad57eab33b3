//! Why a door does not open, and why a client stands before it in vain.

use std::{io, path::PathBuf};

/// Why the door of a node cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// Another daemon serves the folder.
    #[error("the node {by} already serves `{}`; stop it with `sintonia node stop`, or use another folder with `--state`", state.display())]
    Taken {
        /// The state folder.
        state: PathBuf,
        /// Name and process of the other daemon.
        by: String,
    },
    /// A file of the folder.
    #[error("cannot use `{}`; check that its folder is yours, has room, and that its path is not longer than 100 bytes", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others could enter it.
    #[error("others can enter the folder `{}` (mode {mode:o}); run `chmod 700 {}`", path.display(), path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is somebody else's.
    #[error("the folder `{}` belongs to user {uid}, not to you; use another with `--state`", path.display())]
    Owner {
        /// Which.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Nothing says where it should be.
    #[error(
        "neither `XDG_STATE_HOME` nor `HOME` is set; say where to keep the node's state with `--state`"
    )]
    Nowhere,
}

/// Why a client gets no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody listens there.
    #[error("no daemon listens at `{}`; start one with `sintonia node start`, or name its socket in `SINTONIA_NODE`", socket.display())]
    NoDaemon {
        /// Where.
        socket: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It ended, or was killed.
    #[error(
        "the daemon ended before it answered; tasks that it had named are safe and run when it is started again"
    )]
    Ended(#[source] io::Error),
    /// It speaks another version.
    #[error(
        "the daemon and this program are of different versions; restart it with `sintonia node stop` and `sintonia node start`"
    )]
    Version,
    /// It said no.
    #[error("{sentence}")]
    Refused {
        /// Why.
        sentence: String,
    },
    /// The request is too long.
    #[error("a request of {n_bytes} bytes is longer than the {max} that a daemon reads; submit less at once", max = super::REQUEST_BYTES_MAX)]
    TooLong {
        /// Its length.
        n_bytes: usize,
    },
}
