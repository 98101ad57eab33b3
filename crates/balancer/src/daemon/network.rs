//! The part of a daemon that other nodes see.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::SyncSender},
};

use super::{DaemonError, Options, Wake};
use crate::{
    core::words::Event,
    links::{Key, LinkOptions},
    members::{Cluster, ClusterEvent, ClusterOptions, next_incarnation},
};

/// How a node takes part in a cluster.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What others dial: `host`, to which the port is added, or `host:port` where that is passed on to it.
    pub host: String,
    /// The key of the cluster.
    pub key: Key,
    /// Addresses that are dialed as long as the daemon runs: `host:port`.
    pub peers: Vec<String>,
    /// A folder that nodes of this cluster share, to find each other.
    pub meeting: Option<PathBuf>,
    /// How links are kept.
    pub links: LinkOptions,
}

/// To whom a daemon says what a person should know while it runs.
#[derive(Clone)]
pub struct Warn(pub Arc<dyn Fn(&str) + Send + Sync>);

impl Warn {
    /// To nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self(Arc::new(|_| ()))
    }
}

impl fmt::Debug for Warn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Warn(..)")
    }
}

/// What a start of a daemon is for others: when it was, and where.
pub(super) struct Start {
    pub(super) incarnation: u64,
    pub(super) address: String,
    pub(super) cluster: Option<Cluster>,
}

/// Takes part in the cluster, if the node belongs to one.
pub(super) fn start(
    options: &Options,
    state: &Path,
    unix_ms: u64,
    wakes: &SyncSender<Wake>,
) -> Result<Start, DaemonError> {
    let incarnation = next_incarnation(state, unix_ms)?;
    let Some(network) = options.network.clone() else {
        return Ok(Start { incarnation, address: String::new(), cluster: None });
    };
    let cluster_options = ClusterOptions {
        name: options.name.clone(),
        listen: network.listen,
        host: network.host,
        incarnation,
        measurement: options.measurement,
        key: network.key,
        peers: network.peers,
        meeting: network.meeting,
        links: network.links,
    };
    let wakes = wakes.clone();
    let warn = options.warn.clone();
    let on_event = move |event| {
        let wake = match event {
            ClusterEvent::FromPeer { from, message } => {
                Wake::Event(Event::FromPeer { from, message })
            }
            ClusterEvent::Members(members) => Wake::Event(Event::Members(members)),
            ClusterEvent::NameTaken(sentence) => Wake::NameTaken(sentence),
            ClusterEvent::Warning(sentence) => return (warn.0)(&sentence),
        };
        // A daemon that has ended hears nothing.
        wakes.send(wake).unwrap_or(());
    };
    let cluster = Cluster::open(cluster_options, Arc::new(on_event))?;
    let address = cluster.address().to_owned();
    Ok(Start { incarnation, address, cluster: Some(cluster) })
}
