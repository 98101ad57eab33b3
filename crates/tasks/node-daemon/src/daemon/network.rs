//! Network side of a daemon.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use super::{DaemonError, Options, Wake};
use crate::client_socket::SOCKET;
use crate::members::{Cluster, ClusterEvent, ClusterOptions, next_incarnation};
use node_core::interface::CoreEvent;

/// Receiver of warnings for the user while a daemon runs.
#[derive(Clone)]
pub struct Warn(pub Arc<dyn Fn(&str) + Send + Sync>);

impl Warn {
    /// Discards all warnings.
    pub fn nobody() -> Self {
        Self(Arc::new(|_| ()))
    }
}

impl fmt::Debug for Warn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Warn(..)")
    }
}

/// Identity of a daemon's start for other nodes: its incarnation and its address.
pub(super) struct DaemonStart {
    pub(super) incarnation: u64,
    pub(super) address: String,
    pub(super) cluster: Option<Cluster>,
}

/// Joins the cluster, if the node belongs to one.
pub(super) fn start(
    options: &Options,
    state: &Path,
    unix_ms: u64,
    wakes: &SyncSender<Wake>,
) -> Result<DaemonStart, DaemonError> {
    let incarnation = next_incarnation(state, unix_ms)?;
    let Some(mut settings) = options.network.clone() else {
        return Ok(DaemonStart { incarnation, address: String::new(), cluster: None });
    };
    settings.links.clients_at = Some(state.join(SOCKET));
    let cluster_options = ClusterOptions {
        name: options.name.clone(),
        incarnation,
        measurement: options.measurement,
        capacity: options.capacity.amounts.clone(),
        settings,
    };
    let wakes = wakes.clone();
    let warn = options.warn.clone();
    let on_event = move |event| {
        let wake = match event {
            ClusterEvent::FromPeer { from, message } => {
                Wake::Event(CoreEvent::FromPeer { from, message })
            }
            ClusterEvent::Members(members) => Wake::Event(CoreEvent::Members(members)),
            ClusterEvent::NameTaken(sentence) => Wake::NameTaken(sentence),
            ClusterEvent::Warning(sentence) => return (warn.0)(&sentence),
        };
        // A daemon that has ended takes no events.
        wakes.send(wake).unwrap_or(());
    };
    let cluster = Cluster::open(cluster_options, Arc::new(on_event))?;
    let address = cluster.address().to_owned();
    Ok(DaemonStart { incarnation, address, cluster: Some(cluster) })
}
