//! Client socket of a node: a socket in its state folder, at which clients of the same user ask and are answered.
//!
//! A message is JSON in a frame: a [`task_api::ClientRequest`] in, a [`task_api::DaemonAnswer`] out. Each client has a
//! reading thread and a writing thread.
//!
//! # Invariants
//! - Only the owner of the node is let in: the folder is closed to others, and the system reports the user of the
//!   process at the other end.
//! - One daemon serves a state folder. Leftovers of a dead one are replaced; a live one is named.
//! - A client that does not read its answers is disconnected; no thread but its own waits for it.
//!
//! # Not here
//! The contents of answers: see the core.

mod client;
mod message;
mod session;

use crate::LOCK_LINGERS;
use crate::links::LinkError;
use crate::lock;
pub use client::Client;
use files::{Lock, LockError};
pub use message::REQUEST_BYTES_MAX;
use node_core::interface::{ClientId, CoreEvent};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io, thread};
use task_api::{DaemonAnswer, N_SUBMIT_MAX};

/// Name of the socket in the state folder.
pub const SOCKET: &str = "node.sock";
const LOCK: &str = "node.lock";

/// Pause after the system refused a connection, as when too many files are open.
const PAUSE: Duration = Duration::from_millis(50);
/// Most answers that wait for a client; it asks one question at a time, but for submissions.
const N_ANSWERS_MAX: usize = N_SUBMIT_MAX;

/// Options of a client socket.
#[derive(Debug, Clone)]
pub struct ClientSocketOptions {
    /// Most clients that are served at the same time; further ones are refused with that reason.
    pub n_clients_max: usize,
    /// Longest time that a client may take to read an answer.
    pub reads_within: Duration,
}

impl Default for ClientSocketOptions {
    fn default() -> Self {
        Self { n_clients_max: 256, reads_within: Duration::from_secs(30) }
    }
}

/// Receiver of clients' requests and departures; those of one client come in order. It may block; then that client
/// waits too.
pub type OnEvent = Arc<dyn Fn(CoreEvent) + Send + Sync>;

/// Open client socket. Dropping it closes it, and disconnects all clients.
pub struct ClientSocket {
    shared: Arc<Shared>,
    listener: Arc<UnixListener>,
    socket: PathBuf,
    _lock: Lock,
}

/// State that the threads of a client socket share.
struct Shared {
    options: ClientSocketOptions,
    on_event: OnEvent,
    clients: Mutex<Clients>,
    closed: AtomicBool,
}

#[derive(Default)]
struct Clients {
    n_ever: u64,
    present: HashMap<ClientId, Present>,
}

struct Present {
    answers: SyncSender<DaemonAnswer>,
    stream: UnixStream,
}

impl ClientSocket {
    /// Opens the client socket of a state folder. `name` is the node's, for other daemons that find the folder in use.
    ///
    /// # Errors
    /// When another daemon serves this folder, or the folder cannot be used.
    pub fn open(
        state: &Path,
        name: &str,
        options: ClientSocketOptions,
        on_event: OnEvent,
    ) -> Result<Self, ClientSocketError> {
        let socket = state.join(SOCKET);
        let folder = |source| ClientSocketError::Folder { path: socket.clone(), source };
        let by = format!("`{name}`, process {}", std::process::id());
        let lock =
            Lock::take(&state.join(LOCK), &by, LOCK_LINGERS).map_err(|error| match error {
                LockError::Held { by } => ClientSocketError::Taken { state: state.to_owned(), by },
                LockError::Unsupported(source) | LockError::File(source) => {
                    ClientSocketError::Folder { path: state.join(LOCK), source }
                }
            })?;
        // The daemon that left the socket is dead: this one holds the lock.
        fs::remove_file(&socket).ok();
        let listener = Arc::new(UnixListener::bind(&socket).map_err(folder)?);
        let clients = Mutex::default();
        let shared =
            Arc::new(Shared { options, on_event, clients, closed: AtomicBool::new(false) });
        let (own, taken) = (Arc::clone(&shared), Arc::clone(&listener));
        thread::Builder::new()
            .name("door".to_owned())
            .spawn(move || own.accept_loop(&taken))
            .map_err(folder)?;
        Ok(Self { shared, listener, socket, _lock: lock })
    }

    /// Gives a client an answer. A client that has gone is ignored, and one that does not read is disconnected.
    pub fn answer(&self, client: ClientId, answer: DaemonAnswer) {
        let clients = lock(&self.shared.clients);
        let Some(present) = clients.present.get(&client) else { return };
        if let Err(TrySendError::Full(_)) = present.answers.try_send(answer) {
            // The client's reading thread notices this and reports that the client has gone.
            present.stream.shutdown(std::net::Shutdown::Both).ok();
        }
    }

    /// Number of clients that are served now.
    pub fn n_clients(&self) -> usize {
        lock(&self.shared.clients).present.len()
    }
}

impl Drop for ClientSocket {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        fs::remove_file(&self.socket).ok();
        // Wakes the thread that waits for clients.
        rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both).ok();
        for present in lock(&self.shared.clients).present.values() {
            // Pending answers are still written; a client that has gone needs nothing.
            present.stream.shutdown(std::net::Shutdown::Read).ok();
        }
    }
}

impl Shared {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn accept_loop(self: Arc<Self>, listener: &UnixListener) {
        while !self.is_closed() {
            match listener.accept() {
                Ok((stream, _)) => session::receive(&self, stream),
                Err(_) if self.is_closed() => return,
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

/// Mode bits that give access to others.
const OTHERS: u32 = 0o077;

/// Default state folder of a node on this host: `sintonia/HOST` in `XDG_STATE_HOME`, or in `.local/state` of
/// `HOME`. Homes are often shared between hosts, so each host has its own; and a folder that disappears when its
/// user logs out is no place for a journal. `variable` reads an environment variable.
///
/// # Errors
/// When neither variable is set.
pub fn default_state(
    host: &str,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, ClientSocketError> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("sintonia").join(host))
        .ok_or(ClientSocketError::Nowhere)
}

/// Creates the folder where it is missing, closed to others; returns its path without links.
///
/// # Errors
/// When it cannot be created, belongs to another user, or others can enter it.
pub fn open_state(state: &Path) -> Result<PathBuf, ClientSocketError> {
    let unusable = |source| ClientSocketError::Folder { path: state.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(unusable)?;
    let path = fs::canonicalize(state).map_err(unusable)?;
    let metadata = fs::metadata(&path).map_err(unusable)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(ClientSocketError::Owner { path, uid: metadata.uid() });
    }
    let mode = metadata.mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(ClientSocketError::Open { path, mode });
    }
    Ok(path)
}

/// Reasons why the client socket of a node cannot be opened.
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
    /// The daemon on another host cannot be reached.
    #[error(transparent)]
    Unreachable(#[from] LinkError),
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
    #[error("{0}")]
    Refused(String),
    /// The request is too long.
    #[error("a request of {0} bytes is longer than the {max} that a daemon reads; submit less at once", max = REQUEST_BYTES_MAX)]
    TooLong(usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let state = default_state("n1", variable).ok();
        assert_eq!(state, expected.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn the_state_is_where_the_user_keeps_such_things() {
        check(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")], Some("/s/sintonia/n1"));
        check(&[("HOME", "/h")], Some("/h/.local/state/sintonia/n1"));
        check(
            &[("XDG_STATE_HOME", "relative"), ("HOME", "/h")],
            Some("/h/.local/state/sintonia/n1"),
        );
        check(&[("XDG_STATE_HOME", "")], None);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("a/b");
        let opened = open_state(&state).unwrap();
        assert_eq!(fs::metadata(&opened).unwrap().mode() & 0o777, 0o700);
        open_state(&state).unwrap();
        for mode in [0o750, 0o701, 0o777] {
            fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
            let error = open_state(&state).unwrap_err().to_string();
            assert!(error.contains("run `chmod 700 "), "{error}");
        }
    }
}
