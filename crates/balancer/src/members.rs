//! Who belongs to the cluster: nodes that join, leave, fall silent and come back, and the links to them.
//!
//! A node begins with some addresses: a file of peers, Slurm's list of nodes, one seed, or a folder where nodes
//! meet. Whoever is linked hears of all others that the two of them know, and links to them ([`Roll`]).
//!
//! # Invariants
//! - Only a node itself changes what is said of it: the newest of its own words counts everywhere.
//! - Nodes hear of each other in any order, and believe the same in the end.
//! - The thread that thinks is never waited for while anything is locked that it needs.
//!
//! # Not here
//! Connections (`links`), and what becomes of the tasks of nodes that are silent (`core`).

mod incarnation;
mod meeting;
mod peers_file;
mod roll;
mod tending;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use balanced::Presence;

pub use incarnation::{IncarnationError, next_incarnation};
pub use peers_file::{PeerProblem, PeersFileError, peer_address, read_peers};
pub use roll::{Record, Roll, Standing};

use crate::{
    core::words::{Measurement, Member, NodeId, PeerMessage},
    links::{Hello, Key, LinkError, LinkEvent, LinkOptions, Links, SendError},
};
use tending::{Heard, Tending};

/// Where nodes listen unless told otherwise.
pub const PORT: u16 = 7411;

/// What is heard and not yet thought about.
const N_HEARD_MAX: usize = 1024;
/// The first byte of a message between nodes.
const GOSSIP: u8 = 0;
const TALK: u8 = 1;
/// How long the last words of a node that leaves may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// How a node takes part.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// What others dial: `host`, to which the port is added, or `host:port` where that is passed on to it.
    pub host: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
    /// What it can do.
    pub measurement: Measurement,
    /// The key of the cluster.
    pub key: Key,
    /// Addresses that are dialed as long as the daemon runs: `host:port`.
    pub peers: Vec<String>,
    /// A folder that nodes of this cluster share, to find each other.
    pub meeting: Option<PathBuf>,
    /// How links are kept.
    pub links: LinkOptions,
}

/// What happens in the cluster.
#[derive(Debug)]
pub enum ClusterEvent {
    /// Another node says something.
    FromPeer {
        /// Who.
        from: NodeId,
        /// What.
        message: PeerMessage,
    },
    /// All other nodes that are known, sorted by number, after anything about one of them changed.
    Members(Vec<Member>),
    /// Something that a person should know; it goes on nevertheless.
    Warning(String),
    /// Another node has this one's name, and had it before: this one cannot take part.
    NameTaken(String),
}

/// What events are told to. It may wait.
pub type OnEvent = Arc<dyn Fn(ClusterEvent) + Send + Sync>;

/// A node's part in the cluster. Dropping it says the last words and cuts all links.
pub struct Cluster {
    links: Arc<Links>,
    shared: Arc<Shared>,
    heard: SyncSender<Heard>,
    address: String,
}

/// What the node says of itself, taken up by the thread that tends the roll.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wish {
    presence: Presence,
    measurement: Measurement,
}

struct Shared {
    wish: Mutex<Wish>,
    n_dropped: AtomicU64,
    n_damaged: AtomicU64,
}

impl Cluster {
    /// Listens, and links to whom it finds.
    ///
    /// # Errors
    /// The address cannot be listened on, or no thread be started.
    pub fn open(options: ClusterOptions, on_event: OnEvent) -> Result<Self, LinkError> {
        let taken = |source| LinkError::Listen { address: options.listen, source };
        let measurement = options.measurement;
        let shared = Arc::new(Shared {
            wish: Mutex::new(Wish { presence: Presence::Up, measurement }),
            n_dropped: AtomicU64::new(0),
            n_damaged: AtomicU64::new(0),
        });
        // The port is known only when it is open; until then nobody can be told a wrong one.
        let listener = channel::listen(options.listen).map_err(taken)?;
        let port = listener.local_addr().map_err(taken)?.port();
        let me = Hello {
            name: options.name.clone(),
            address: advertised(&options.host, port),
            incarnation: options.incarnation,
        };
        let (heard, hearing) = sync_channel(N_HEARD_MAX);
        let sorting = sort(heard.clone(), Arc::clone(&shared), Arc::clone(&on_event));
        let link_options = options.links.clone();
        let links =
            Links::take(listener, me.clone(), options.key.clone(), link_options, Arc::new(sorting));
        let links = Arc::new(links.map_err(taken)?);
        let address = me.address.clone();
        let tending = Tending::new(me, options, Arc::clone(&links), Arc::clone(&shared), on_event);
        let failed = |source| LinkError::Unreachable { peer: address.clone(), source };
        thread::Builder::new()
            .name("members".to_owned())
            .spawn(move || tending.run(&hearing))
            .map_err(failed)?;
        Ok(Self { links, shared, heard, address })
    }

    /// Where others dial this node: `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Says something to another node.
    ///
    /// # Errors
    /// It is too long, there is no link, or its queue is full; the last is counted.
    pub fn send(&self, to: NodeId, message: &PeerMessage) -> Result<(), SendError> {
        let bytes = message.encode().map_err(|_| SendError::TooLong)?;
        let sent = self.links.send(to, [&[TALK], bytes.as_slice()].concat());
        if sent == Err(SendError::Full) {
            self.shared.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }

    /// Messages that were dropped because a queue was full.
    pub fn n_dropped(&self) -> u64 {
        self.shared.n_dropped.load(Ordering::Relaxed)
    }

    /// Messages of other nodes that could not be understood.
    pub fn n_damaged(&self) -> u64 {
        self.shared.n_damaged.load(Ordering::Relaxed)
    }

    /// Tells all others what this node is now.
    pub fn presence(&self, presence: Presence) {
        self.shared.wish().presence = presence;
        // A thread that has much to hear looks soon by itself.
        self.heard.try_send(Heard::Look).ok();
    }

    /// Tells all others what this node can do now.
    pub fn measured(&self, measurement: Measurement) {
        self.shared.wish().measurement = measurement;
        self.heard.try_send(Heard::Look).ok();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The thread ends with this, after it has said what was still to be said.
        let (done, ended) = sync_channel(1);
        if self.heard.send(Heard::End(done)).is_ok() {
            // In vain when it takes too long: others find out that this node is silent.
            ended.recv_timeout(FAREWELL).ok();
        }
        self.links.flush(FAREWELL);
        self.links.close();
    }
}

impl Shared {
    fn wish(&self) -> MutexGuard<'_, Wish> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn advertised(host: &str, port: u16) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(name, port)| {
        port.parse::<u16>().is_ok() && (!name.contains(':') || name.ends_with(']'))
    });
    match host.parse::<std::net::Ipv6Addr>() {
        Ok(_) => format!("[{host}]:{port}"),
        Err(_) if has_port => host.to_owned(),
        Err(_) => format!("{host}:{port}"),
    }
}

/// Talk goes straight on; all that concerns the roll goes to its thread.
fn sort(
    heard: SyncSender<Heard>,
    shared: Arc<Shared>,
    on_event: OnEvent,
) -> impl Fn(LinkEvent) + Send + Sync {
    move |event| match event {
        LinkEvent::Message { from, bytes } => match bytes.split_first() {
            Some((&TALK, talk)) => match PeerMessage::decode(talk) {
                Ok(message) => on_event(ClusterEvent::FromPeer { from, message }),
                Err(error) => {
                    if shared.n_damaged.fetch_add(1, Ordering::Relaxed) == 0 {
                        on_event(ClusterEvent::Warning(error.to_string()));
                    }
                }
            },
            Some((&GOSSIP, gossip)) => match postcard::from_bytes(gossip) {
                // When the thread has ended nobody is interested.
                Ok(records) => heard.send(Heard::Gossip { from, records }).unwrap_or(()),
                Err(_) => drop(shared.n_damaged.fetch_add(1, Ordering::Relaxed)),
            },
            _ => drop(shared.n_damaged.fetch_add(1, Ordering::Relaxed)),
        },
        event => heard.send(Heard::Link(event)).unwrap_or(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_port() {
        let check = |host, expected| assert_eq!(advertised(host, 9), expected);
        check("n1", "n1:9");
        check("10.0.0.1", "10.0.0.1:9");
        check("n1:8", "n1:8");
        check("fe80::1", "[fe80::1]:9");
        check("[fe80::1]", "[fe80::1]:9");
        check("[fe80::1]:8", "[fe80::1]:8");
    }
}
