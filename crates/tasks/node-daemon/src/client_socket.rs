//! Client socket of a node: a socket in its state folder, at which clients of the same user ask and are answered.
//!
//! A message is JSON in a frame: a [`Request`] in, an [`Answer`] out. Each client has a reading thread and a writing thread.
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
mod error;
mod folder;
mod message;
mod session;

use std::{
    collections::HashMap,
    fs,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, TrySendError},
    },
    thread,
    time::Duration,
};

use files::{Lock, LockError};
use task_api::{Answer, Request};

pub use client::Client;
pub use error::{ClientError, ClientSocketError};
pub use folder::{default_state, open_state};
pub use message::REQUEST_BYTES_MAX;

use crate::LOCK_LINGERS;
use node_core::interface::ClientId;

/// Name of the socket in the state folder.
pub const SOCKET: &str = "node.sock";
const LOCK: &str = "node.lock";

/// Pause after the system refused a connection, as when too many files are open.
const PAUSE: Duration = Duration::from_millis(50);
/// Most answers that wait for a client; it asks one question at a time.
const N_ANSWERS_MAX: usize = 16;

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

/// Event of a client. Events of one client come in order.
#[derive(Debug)]
pub enum ClientEvent {
    /// A client sends a request.
    Asked {
        /// The client.
        client: ClientId,
        /// The request.
        request: Request,
    },
    /// A client has gone, or was disconnected; it sends nothing more.
    Gone {
        /// The client.
        client: ClientId,
    },
}

/// Receiver of events. It may block; then that client waits too.
pub type OnEvent = Arc<dyn Fn(ClientEvent) + Send + Sync>;

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
    answers: SyncSender<Answer>,
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
    pub fn answer(&self, client: ClientId, answer: Answer) {
        let clients = self.shared.clients();
        let Some(present) = clients.present.get(&client) else { return };
        if let Err(TrySendError::Full(_)) = present.answers.try_send(answer) {
            // The client's reading thread notices this and reports that the client has gone.
            present.stream.shutdown(std::net::Shutdown::Both).ok();
        }
    }

    /// Number of clients that are served now.
    pub fn n_clients(&self) -> usize {
        self.shared.clients().present.len()
    }
}

impl Drop for ClientSocket {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        fs::remove_file(&self.socket).ok();
        // Wakes the thread that waits for clients.
        rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both).ok();
        for present in self.shared.clients().present.values() {
            // Pending answers are still written; a client that has gone needs nothing.
            present.stream.shutdown(std::net::Shutdown::Read).ok();
        }
    }
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
