//! Daemon of a node: one thread for the core, and the edges through which it receives and acts.
//!
//! The core thread takes the events that have arrived, passes each to the [`node_core::Core`], and then hands out the results:
//! records to the journal, orders to the keeper, messages to clients and nodes, some of them only when the records
//! that they depend on are on disk ([`outbox`]).
//!
//! # Invariants
//! - The core thread waits for nothing but its next event; where an edge is full, the message is dropped and
//!   counted.
//! - When the journal cannot be written, the daemon ends: tasks go on, and the next daemon finds them.
//!
//! # Not here
//! Arguments, signals and the names of folders: `task-client`.

mod core_loop;
mod file_warnings;
mod network;
mod outbox;
mod record_batch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use balancing_policies::Policy;
use task_api::check_node_name;

use crate::client_socket::{ClientSocket, ClientSocketError, ClientSocketOptions};
use crate::journal::{self, Durability, FormatError, JournalError, Writer, WriterNews};
use crate::keeper::{Keeper, KeeperClientError, boot_now};
pub use crate::members::ClusterSettings;
use core_loop::CoreLoop;
use file_warnings::FileWarnings;
use network::DaemonStart;
pub use network::Warn;
use node_core::CoreOptions;
use node_core::book::Book;
pub use node_core::book::BookLimits;
use node_core::interface::{CoreEvent, Measurement, NodeCapacity, Now, node_id};
use outbox::{Edges, Orders, Outbox};
use record_batch::RecordBatch;

/// Most events that wait for the core thread; beyond that the sender waits.
const N_EVENTS_MAX: usize = 4096;

/// Reasons why a daemon cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// Error of the state folder or the client socket.
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
    #[error("{0}")]
    NameTaken(String),
    /// The name of the node is invalid.
    #[error(transparent)]
    Name(#[from] task_api::NameError),
    /// Error of the keeper.
    #[error(transparent)]
    Keeper(#[from] KeeperClientError),
}

/// Options of a daemon.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the node.
    pub name: String,
    /// State folder, which only its owner can enter: journal, sockets.
    pub state: PathBuf,
    /// Cores and speed of the node.
    pub measurement: Measurement,
    /// What it has for tasks.
    pub capacity: NodeCapacity,
    /// Time at which the node ends, in ms since 1970, where that is known: tasks that ask for more are not started.
    pub ends_ms: Option<u64>,
    /// Policy by which tasks move.
    pub policy: Policy,
    /// Condition on which a record counts as written.
    pub durability: Durability,
    /// Time for which a node may run a task after its home last answered, in ms.
    pub lease_ms: u64,
    /// Additional time before a home gives the task to another node, in ms.
    pub slack_ms: u64,
    /// Bounds of what is kept of tasks.
    pub limits: BookLimits,
    /// Program and arguments of the keeper of this state folder.
    pub keeper: Vec<OsString>,
    /// Options of the client socket.
    pub client_socket: ClientSocketOptions,
    /// Network of the cluster; `None` where the node stays alone.
    pub network: Option<ClusterSettings>,
    /// Receiver of warnings for the user while the daemon runs.
    pub warn: Warn,
}

/// Message to the core thread.
#[derive(Debug)]
enum Wake {
    /// Event for the core.
    Event(CoreEvent),
    /// News from the journal's thread.
    Journal(WriterNews),
    /// The present keeper has gone.
    KeeperGone,
    /// Another keeper has taken its place, or cannot be started.
    KeeperReplaced(Result<Keeper, KeeperClientError>),
    /// Another node has this one's name, and had it before.
    NameTaken(String),
    /// The node shall leave, by a request from this machine.
    Stop { now: bool },
}

/// Daemon that is ready to run: it has locked its folder, read its journal and opened its client socket.
pub struct Daemon {
    core_loop: CoreLoop,
    wakes: SyncSender<Wake>,
    incoming: Receiver<Wake>,
    address: String,
}

/// Handle that stops a daemon from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    wakes: SyncSender<Wake>,
}

impl Options {
    /// Options of a node without a cluster, with the usual times and bounds.
    pub fn new(name: &str, state: &Path, measurement: Measurement, keeper: Vec<OsString>) -> Self {
        Self {
            name: name.to_owned(),
            state: state.to_owned(),
            measurement,
            capacity: NodeCapacity::of_cores(measurement.n_cores),
            ends_ms: None,
            policy: Policy::DEFAULT,
            durability: Durability::default(),
            lease_ms: 10_000,
            slack_ms: 5_000,
            limits: BookLimits::default(),
            keeper,
            client_socket: ClientSocketOptions::default(),
            network: None,
            warn: Warn::nobody(),
        }
    }
}

impl Stopper {
    /// Makes the node leave: it takes nothing any more, and ends when nothing runs. With `now`, running tasks are
    /// ended, and run again elsewhere or when the node is back.
    pub fn stop(&self, now: bool) {
        // A daemon that has ended needs no request.
        self.wakes.send(Wake::Stop { now }).ok();
    }
}

/// Runs a daemon until it leaves.
///
/// # Errors
/// When its folder cannot be used or is in use, or its journal can no longer be written.
pub fn run(options: Options) -> Result<(), DaemonError> {
    Daemon::open(options)?.run()
}

impl Daemon {
    /// Reads the journal, finds or starts the keeper, joins the cluster, and opens the client socket.
    ///
    /// # Errors
    /// When the folder or the address cannot be used or is in use.
    pub fn open(options: Options) -> Result<Self, DaemonError> {
        check_node_name(&options.name)?;
        let state = crate::client_socket::open_state(&options.state)?;
        let (wakes, incoming) = sync_channel(N_EVENTS_MAX);
        let mut book = Book::new(node_id(&options.name), options.limits);
        let now = now();
        let opened = journal::open(&state, &options.name, now.unix_ms, &mut book)?;
        let records = RecordBatch::new(opened.encoder(), opened.n_bytes, book.next_number());
        let orders = Orders::new(node_id(&options.name), opened.assigned_below());
        let file_warning = opened.file_warning(book.damages());
        let tell = wakes.clone();
        let tell = move |news| tell.send(Wake::Journal(news)).unwrap_or(());
        let writer = Writer::start(opened, options.durability, tell)?;
        let start = network::start(&options, &state, now.unix_ms, &wakes)?;
        let heard = wakes.clone();
        let on_event = Arc::new(move |event| heard.send(Wake::Event(event)).unwrap_or(()));
        let client_socket =
            ClientSocket::open(&state, &options.name, options.client_socket.clone(), on_event)?;
        let core = core_options(&options, &start, now);
        let files = file_warning.into_iter().chain([crate::keeper::file_warning(&state)]).collect();
        let file_warnings = FileWarnings::new(files, options.warn.clone());
        let DaemonStart { address, cluster, .. } = start;
        let edges = Edges { writer, client_socket, cluster, durability: options.durability };
        let outbox = Outbox::new(edges, orders, records);
        let core = (core, book, now);
        let core_loop =
            CoreLoop::new(state, options.keeper, core, (outbox, file_warnings), &wakes)?;
        Ok(Self { core_loop, wakes, incoming, address })
    }

    /// Address at which other nodes reach it: `host:port`; empty for a node without a cluster.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Handle that stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper { wakes: self.wakes.clone() }
    }

    /// Runs until the node leaves.
    ///
    /// # Errors
    /// When the journal can no longer be written, or no keeper can be started.
    pub fn run(self) -> Result<(), DaemonError> {
        self.core_loop.run(&self.incoming)
    }
}

/// The present time, by both clocks.
fn now() -> Now {
    let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let seconds = u64::try_from(wall.tv_sec).unwrap_or(0);
    let ms = u64::try_from(wall.tv_nsec / 1_000_000).unwrap_or(0);
    Now { moment: boot_now(), unix_ms: seconds * 1000 + ms }
}

fn core_options(options: &Options, start: &DaemonStart, now: Now) -> CoreOptions {
    CoreOptions {
        name: options.name.clone(),
        address: start.address.clone(),
        incarnation: start.incarnation,
        policy: options.policy,
        seed: now.unix_ms,
        lease_ms: options.lease_ms,
        slack_ms: options.slack_ms,
        measurement: options.measurement,
        capacity: options.capacity.clone(),
        ends_ms: options.ends_ms,
    }
}
