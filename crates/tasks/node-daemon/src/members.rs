//! Membership of the cluster: nodes that join, leave, fall silent and come back, and the links to them.
//!
//! A node begins with some addresses: a file of peers, Slurm's list of nodes, one seed, or a folder where nodes
//! meet. Two nodes with a link tell each other of all others that they know ([`node_core::membership_table`]); a link to
//! one of these is made when a message needs it.
//!
//! # Invariants
//! - Only a node itself changes its record: the newest one that it has sent counts everywhere.
//! - Nodes learn of each other in any order, and agree in the end.
//! - No lock that the core thread needs is held while waiting for that thread.
//!
//! # Not here
//! Connections (`links`), and the tasks of silent nodes (`core`).

mod gossip;
mod meeting;
mod membership_thread;
mod warnings;

use crate::links::{ClusterKey, Hello, LinkError, LinkEvent, LinkOptions, Links, SendError};
use crate::lock;
use membership_thread::{MembershipEvent, MembershipThread};
use node_core::interface::{Measurement, Member, NodeId, PeerMessage};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io, thread};
use task_api::{Presence, Resources};

/// Default port that nodes listen on.
pub const PORT: u16 = 7411;

/// Most messages that wait for the members thread.
const N_EVENTS_MAX: usize = 1024;
/// First byte of a message between nodes: below, the two kinds.
const GOSSIP: u8 = 0;
const CORE_MESSAGE: u8 = 1;
/// Longest time for the last messages of a node that leaves.
const FAREWELL: Duration = Duration::from_secs(1);

/// Network of a node in a cluster.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// Address to listen at.
    pub listen: SocketAddr,
    /// Name that others dial: `host`, to which the port is added, or `host:port` where a forwarded port leads to
    /// this node.
    pub host: String,
    /// The key of the cluster.
    pub key: ClusterKey,
    /// Addresses that are dialed as long as the daemon runs: `host:port`.
    pub peers: Vec<String>,
    /// Folder that nodes of this cluster share, to find each other.
    pub meeting: Option<PathBuf>,
    /// Options of links.
    pub links: LinkOptions,
}

/// Options of a node in a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Name of the node.
    pub name: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
    /// Cores and speed of the node.
    pub measurement: Measurement,
    /// All that tasks may use on it.
    pub capacity: Resources,
    /// Network of the node.
    pub settings: ClusterSettings,
}

/// Event of the cluster.
#[derive(Debug)]
pub enum ClusterEvent {
    /// Another node sends a message.
    FromPeer {
        /// Sender.
        from: NodeId,
        /// The message.
        message: PeerMessage,
    },
    /// All other known nodes, sorted by number, after anything about one of them has changed.
    Members(Vec<Member>),
    /// Warning for the user; the node goes on.
    Warning(String),
    /// Another node has this one's name, and had it before: this one cannot take part.
    NameTaken(String),
}

/// Receiver of events. It may block.
pub type OnEvent = Arc<dyn Fn(ClusterEvent) + Send + Sync>;

/// A node's part in the cluster. Dropping it sends the last messages and cuts all links.
pub struct Cluster {
    links: Arc<Links>,
    shared: Arc<Shared>,
    events: SyncSender<MembershipEvent>,
    address: String,
}

/// Values that the node announces of itself, taken up by the members thread.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Announced {
    presence: Presence,
    measurement: Measurement,
}

struct Shared {
    announced: Mutex<Announced>,
    /// Nodes that the core has been told of.
    told: Mutex<HashSet<NodeId>>,
    n_dropped: AtomicU64,
    n_damaged: AtomicU64,
}

impl Cluster {
    /// Listens, and links to the nodes that it finds.
    ///
    /// # Errors
    /// When the address cannot be listened on, or no thread can be started.
    pub fn open(options: ClusterOptions, on_event: OnEvent) -> Result<Self, LinkError> {
        let taken = |source| LinkError::Listen { address: options.settings.listen, source };
        let measurement = options.measurement;
        let shared = Arc::new(Shared {
            announced: Mutex::new(Announced { presence: Presence::Up, measurement }),
            told: Mutex::default(),
            n_dropped: AtomicU64::new(0),
            n_damaged: AtomicU64::new(0),
        });
        // The port is known only when the listener is open; until then no node can be told a wrong one.
        let listener = channel::listen(options.settings.listen).map_err(taken)?;
        let port = listener.local_addr().map_err(taken)?.port();
        let me = Hello {
            name: options.name.clone(),
            address: advertised(&options.settings.host, port),
            incarnation: options.incarnation,
        };
        let (events, incoming) = sync_channel(N_EVENTS_MAX);
        let sorting = sort(events.clone(), Arc::clone(&shared), Arc::clone(&on_event));
        let (key, link_options) = (options.settings.key.clone(), options.settings.links.clone());
        let links = Links::take(listener, me.clone(), key, link_options, Arc::new(sorting));
        let links = Arc::new(links.map_err(taken)?);
        let address = me.address.clone();
        let thread =
            MembershipThread::new(me, options, Arc::clone(&links), Arc::clone(&shared), on_event);
        let failed = |source| LinkError::Unreachable { peer: address.clone(), source };
        thread::Builder::new()
            .name("members".to_owned())
            .spawn(move || thread.run(&incoming))
            .map_err(failed)?;
        Ok(Self { links, shared, events, address })
    }

    /// Address at which others dial this node: `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a message to another node.
    ///
    /// # Errors
    /// When it is too long, there is no link, or its queue is full; the last is counted.
    pub fn send(&self, to: NodeId, message: &PeerMessage) -> Result<(), SendError> {
        let bytes = message.encode().map_err(|_| SendError::TooLong)?;
        let sent = self.links.send(to, [&[CORE_MESSAGE], bytes.as_slice()].concat());
        if sent == Err(SendError::Full) {
            self.shared.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }

    /// Number of messages that were dropped because a queue was full.
    pub fn n_dropped(&self) -> u64 {
        self.shared.n_dropped.load(Ordering::Relaxed)
    }

    /// Number of nodes that there is a link to.
    pub fn n_links(&self) -> usize {
        self.links.n_links()
    }

    /// Number of messages of other nodes that could not be decoded.
    pub fn n_damaged(&self) -> u64 {
        self.shared.n_damaged.load(Ordering::Relaxed)
    }

    /// Announces this node's presence to all others.
    pub fn presence(&self, presence: Presence) {
        lock(&self.shared.announced).presence = presence;
        // A thread with a full queue looks soon anyway.
        self.events.try_send(MembershipEvent::Look).ok();
    }

    /// Announces this node's cores and speed to all others.
    pub fn measured(&self, measurement: Measurement) {
        lock(&self.shared.announced).measurement = measurement;
        self.events.try_send(MembershipEvent::Look).ok();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // This ends the thread, after it has sent the last messages.
        let (done, ended) = sync_channel(1);
        if self.events.send(MembershipEvent::End(done)).is_ok() {
            // If it takes too long, others find out that this node is silent.
            ended.recv_timeout(FAREWELL).ok();
        }
        self.links.flush(FAREWELL);
        self.links.close();
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

/// Passes messages of the core straight on, and everything that concerns membership to its thread: also messages of a node that
/// the core has not been told of yet, which would be those of a stranger.
fn sort(
    events: SyncSender<MembershipEvent>,
    shared: Arc<Shared>,
    on_event: OnEvent,
) -> impl Fn(LinkEvent) + Send + Sync {
    move |event| match event {
        LinkEvent::Message { from, bytes } => match bytes.split_first() {
            Some((&CORE_MESSAGE, bytes)) => match PeerMessage::decode(bytes) {
                Ok(message) if lock(&shared.told).contains(&from) => {
                    on_event(ClusterEvent::FromPeer { from, message });
                }
                Ok(message) => {
                    let message = Box::new(message);
                    events.send(MembershipEvent::Early { from, message }).unwrap_or(());
                }
                Err(error) => {
                    if shared.n_damaged.fetch_add(1, Ordering::Relaxed) == 0 {
                        on_event(ClusterEvent::Warning(error.to_string()));
                    }
                }
            },
            Some((&GOSSIP, gossip)) => match postcard::from_bytes(gossip) {
                // When the thread has ended, gossip no longer matters.
                Ok(gossip) => events.send(MembershipEvent::Gossip { from, gossip }).unwrap_or(()),
                Err(_) => drop(shared.n_damaged.fetch_add(1, Ordering::Relaxed)),
            },
            _ => drop(shared.n_damaged.fetch_add(1, Ordering::Relaxed)),
        },
        event => events.send(MembershipEvent::Link(event)).unwrap_or(()),
    }
}

const FILE: &str = "incarnation";

/// Error: the incarnation cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`; check that its folder is yours and has room", path.display())]
pub struct IncarnationError {
    path: PathBuf,
    source: io::Error,
}

/// Returns the incarnation of this start: the milliseconds since 1970, or one more than the last one if that is
/// greater.
///
/// # Errors
/// When the file that stores it cannot be written.
pub fn next_incarnation(state: &Path, unix_ms: u64) -> Result<u64, IncarnationError> {
    let path = state.join(FILE);
    let last = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let next = unix_ms.max(last.map_or(0, |last| last.saturating_add(1)));
    let written = files::replace(&path, next.to_string().as_bytes());
    written.map_err(|source| IncarnationError { path, source })?;
    Ok(next)
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

    #[test]
    fn it_grows_whatever_the_clock_does() {
        let state = tempfile::tempdir().unwrap();
        let next = |unix_ms| next_incarnation(state.path(), unix_ms).unwrap();
        assert_eq!([next(100), next(100), next(50), next(200)], [100, 101, 102, 200]);
        fs::write(state.path().join(FILE), "damaged").unwrap();
        assert_eq!(next(300), 300);
    }
}
