//! Connections between nodes: encrypted, one for each pair, made again when they break.
//!
//! Who has not the key of the cluster learns nothing: the first message of a connection already
//! proves it (Noise `NNpsk0`). Each link has a thread that reads and one that writes; each address
//! that is to be reached has one that dials.
//!
//! # Invariants
//! - Between two daemons there is one link. When both dial at once, the connection of the one with
//!   the smaller name stays, on both sides.
//! - Nothing waits without a deadline: a peer that is silent is disconnected, a message that does
//!   not fit into the queue of its link is dropped and counted.
//! - Whatever arrives, from whomever, ends at worst in one [`LinkError`].
//!
//! # Not here
//! What nodes say to each other (`core::words`), and who belongs to the cluster (`members`).

mod channel;
mod dialing;
mod error;
mod hello;
mod key;
mod link;
mod listening;
mod shaking;
mod table;

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use ::channel::Reception;

pub use error::{LinkError, Refusal, SendError};
pub use hello::Hello;
pub use key::{Key, KeyError};

use crate::core::words::{FRAME_BYTES_MAX, NodeId, PEER_VERSION};

/// How links are kept.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// Version of what nodes say to each other; others are refused.
    pub version: u16,
    /// Longest message in bytes.
    pub message_bytes_max: usize,
    /// How long dialing and proving the key may take.
    pub shakes_within: Duration,
    /// How often something is said when there is nothing to say.
    pub heartbeat: Duration,
    /// A peer that says nothing for so long is disconnected.
    pub silent_after: Duration,
    /// How long a peer may take to read what was said.
    pub reads_within: Duration,
    /// Pause after the first dial that failed; it doubles up to `pause_max`.
    pub pause_min: Duration,
    /// Longest pause between dials.
    pub pause_max: Duration,
    /// Messages that wait in the queue of a link at most.
    pub n_queued_max: usize,
    /// Bytes that wait in the queue of a link at most.
    pub queued_bytes_max: usize,
    /// Connections that are proving the key at the same time at most; then the oldest silent one goes.
    pub n_shaking_max: usize,
    /// Of these, from one address.
    pub n_shaking_per_address_max: usize,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            version: PEER_VERSION,
            message_bytes_max: FRAME_BYTES_MAX + 1,
            shakes_within: Duration::from_secs(3),
            heartbeat: Duration::from_secs(1),
            silent_after: Duration::from_secs(3),
            reads_within: Duration::from_secs(10),
            pause_min: Duration::from_millis(100),
            pause_max: Duration::from_secs(5),
            n_queued_max: 1024,
            queued_bytes_max: 16 << 20,
            n_shaking_max: 128,
            n_shaking_per_address_max: 96,
        }
    }
}

/// What happens to links. Events of one link come in order, from one thread.
#[derive(Debug)]
pub enum LinkEvent {
    /// A peer can be talked to; also when a new link replaces the one before.
    Up(Hello),
    /// A peer says something.
    Message {
        /// Who.
        from: NodeId,
        /// What.
        bytes: Vec<u8>,
    },
    /// The link to a peer is no more, and there is no other one.
    Down {
        /// Who.
        name: String,
        /// Why.
        error: LinkError,
    },
    /// A connection did not become a link. Told once while it stays the same.
    Failed {
        /// Who was reached at the address that was dialed, when that last succeeded.
        met: Option<NodeId>,
        /// Why.
        error: LinkError,
    },
}

/// What events are told to. It may wait; then the link's peer waits too.
pub type OnEvent = Arc<dyn Fn(LinkEvent) + Send + Sync>;

/// All links of a node. Dropping it ends them.
pub struct Links {
    common: Arc<table::Common>,
    reception: Reception,
}

impl Links {
    /// Listens, and from now on takes connections.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn open(
        listen: SocketAddr,
        me: Hello,
        key: Key,
        options: LinkOptions,
        on_event: OnEvent,
    ) -> Result<Self, LinkError> {
        let taken = |source| LinkError::Listen { address: listen, source };
        let listener = ::channel::listen(listen).map_err(taken)?;
        Self::take(listener, me, key, options, on_event).map_err(taken)
    }

    /// Takes connections of a port that is open already.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn take(
        listener: TcpListener,
        me: Hello,
        key: Key,
        options: LinkOptions,
        on_event: OnEvent,
    ) -> std::io::Result<Self> {
        let common = Arc::new(table::Common::new(me, key, options, on_event));
        let reception = listening::start(listener, Arc::clone(&common))?;
        Ok(Self { common, reception })
    }

    /// Where it listens; the port was chosen by the system when zero was asked for.
    ///
    /// # Errors
    /// The system does not say.
    pub fn listens_on(&self) -> std::io::Result<SocketAddr> {
        self.reception.address()
    }

    /// Keeps a link to whoever is reached by `host:port`, until [`Self::forget`]. Does nothing when
    /// that address is dialed already.
    pub fn dial(&self, address: &str) {
        dialing::start(&self.common, address);
    }

    /// Dials no more; a link that is there stays.
    pub fn forget(&self, address: &str) {
        self.common.forget_target(address);
    }

    /// Puts a message into the queue of a peer's link.
    ///
    /// # Errors
    /// There is no link, or no room.
    pub fn send(&self, to: NodeId, bytes: Vec<u8>) -> Result<(), SendError> {
        self.common.send(to, bytes)
    }

    /// Waits until everything that was sent is written, or as long as this.
    pub fn flush(&self, within: Duration) {
        self.common.flush(within);
    }

    /// Ends all links, and takes none any more.
    pub fn close(&self) {
        self.common.close();
        self.reception.close();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.close();
    }
}
