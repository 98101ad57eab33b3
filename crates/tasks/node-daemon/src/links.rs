//! Links between nodes: encrypted, made when a message needs them, and let go when none has used them for a while; and
//! clients on other hosts, which are passed on to the client socket.
//!
//! A peer without the key of the cluster learns nothing: the first message of a connection already proves the key
//! (Noise `NNpsk0`). Each link has a reading and a writing thread; the one that dials reads, once there is a link.
//!
//! # Invariants
//! - Two daemons have one link. When both dial at once, the connection that the one with the smaller name dialed
//!   stays, on both sides.
//! - Nothing waits without a deadline: a silent peer is disconnected, and a message that does not fit into the
//!   queue of its link is dropped and counted.
//! - Whatever arrives from any peer leads at worst to one [`LinkError`].
//!
//! # Not here
//! The messages between nodes (`core::interface`), and membership of the cluster (`members`).

mod dialing;
mod error;
mod handshake;
mod key;
mod link;
mod message_stream;
mod reaching;
mod remote_client;
mod table;
mod unlinked;

use channel::{AcceptedConnection, Acceptor, DeadlineStream, StrangerLimits, Unauthenticated};
pub use error::{LinkError, Refusal, SendError};
pub use handshake::Hello;
use handshake::{Caller, HandshakeSide};
pub use key::{ClusterKey, KeyError};
use node_core::interface::{FRAME_BYTES_MAX, NodeId, PEER_VERSION};
pub use remote_client::connect as connect_client;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use table::{Common, Way};

/// Options of links.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// Version of the messages between nodes; other versions are refused.
    pub version: u16,
    /// Longest message in bytes.
    pub message_bytes_max: usize,
    /// Longest time for dialing and proving the key.
    pub handshake_timeout: Duration,
    /// Time after which an idle link sends an empty message.
    pub heartbeat: Duration,
    /// Time after which a link that no message has used is let go.
    pub rest_after: Duration,
    /// Most nodes that are dialed at once because messages wait for them.
    pub n_dialing_max: usize,
    /// Time after which a peer that sends nothing is disconnected.
    pub silent_after: Duration,
    /// Longest time that a peer may take to read a message.
    pub reads_within: Duration,
    /// Pause after the first failed dial; it doubles up to `pause_max`.
    pub pause_min: Duration,
    /// Longest pause between dials.
    pub pause_max: Duration,
    /// Most messages in the queue of a link.
    pub n_queued_max: usize,
    /// Most bytes in the queue of a link.
    pub queued_bytes_max: usize,
    /// Most connections that are proving the key at the same time; beyond that the oldest silent one is dropped.
    pub n_handshakes_max: usize,
    /// Most of these from one address.
    pub n_handshakes_per_address_max: usize,
    /// Client socket of this node, to which clients on other hosts that prove the key are passed on; `None` refuses
    /// them.
    pub clients_at: Option<PathBuf>,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            version: PEER_VERSION,
            message_bytes_max: FRAME_BYTES_MAX + 1,
            handshake_timeout: Duration::from_secs(3),
            heartbeat: Duration::from_secs(1),
            rest_after: Duration::from_secs(5),
            n_dialing_max: 16,
            silent_after: Duration::from_secs(3),
            reads_within: Duration::from_secs(10),
            pause_min: Duration::from_millis(100),
            pause_max: Duration::from_secs(5),
            n_queued_max: 1024,
            queued_bytes_max: 16 << 20,
            n_handshakes_max: 128,
            n_handshakes_per_address_max: 96,
            clients_at: None,
        }
    }
}

/// Event of links. Events of one link come in order, from one thread.
#[derive(Debug)]
pub enum LinkEvent {
    /// A link to a peer is up, possibly in place of an earlier one.
    Up(Hello),
    /// A peer sends a message.
    Message {
        /// Sender.
        from: NodeId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// The link to a peer has ended, and there is no other one.
    Down {
        /// Name of the peer.
        name: String,
        /// Reason.
        error: LinkError,
    },
    /// A link that nothing has used was let go.
    Rested(NodeId),
    /// A node to which a link was needed cannot be reached now; what waited for it is lost.
    Unreached(NodeId),
    /// A connection did not become a link. Reported once as long as the reason stays the same.
    Failed {
        /// Peer at the dialed address when dialing it last succeeded.
        met: Option<NodeId>,
        /// Reason.
        error: LinkError,
    },
}

/// Receiver of events. It may block; then the link's peer waits too.
pub type OnEvent = Arc<dyn Fn(LinkEvent) + Send + Sync>;

/// All links of a node. Dropping it ends them.
pub struct Links {
    common: Arc<Common>,
    acceptor: Acceptor,
}

impl Links {
    /// Listens, and accepts connections from now on.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn open(
        listen: SocketAddr,
        me: Hello,
        key: ClusterKey,
        options: LinkOptions,
        on_event: OnEvent,
    ) -> Result<Self, LinkError> {
        let taken = |source| LinkError::Listen { address: listen, source };
        let listener = channel::listen(listen).map_err(taken)?;
        Self::take(listener, me, key, options, on_event).map_err(taken)
    }

    /// Accepts connections of a listener that is open already.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn take(
        listener: TcpListener,
        me: Hello,
        key: ClusterKey,
        options: LinkOptions,
        on_event: OnEvent,
    ) -> io::Result<Self> {
        let common = Arc::new(Common::new(me, key, options, on_event));
        let acceptor = accept(listener, Arc::clone(&common))?;
        Ok(Self { common, acceptor })
    }

    /// Address of the listener; the system chose the port when zero was asked for.
    ///
    /// # Errors
    /// When the system does not tell it.
    pub fn listens_on(&self) -> io::Result<SocketAddr> {
        self.acceptor.address()
    }

    /// Keeps a link to the peer at `host:port`, until [`Self::forget`]. Does nothing when that address is dialed
    /// already.
    pub fn dial(&self, address: &str) {
        dialing::start(&self.common, address);
    }

    /// Stops dialing the address; an existing link stays.
    pub fn forget(&self, address: &str) {
        self.common.forget_target(address);
    }

    /// Sets the nodes to which a link is made when one is needed. Their names belong to them.
    pub fn know(&self, nodes: HashMap<NodeId, Hello>) {
        self.common.with_unlinked(|it| it.know(nodes));
    }

    /// Node that was last met at an address that was dialed; also this node itself.
    pub fn met_at(&self, address: &str) -> Option<NodeId> {
        self.common.met_at(address)
    }

    /// Makes a link to a node whose address is known, unless there is one.
    pub fn reach(&self, node: NodeId) {
        self.common.reach(node);
        reaching::go_on(&self.common);
    }

    /// Number of links.
    pub fn n_links(&self) -> usize {
        self.common.n_links()
    }

    /// Puts a message into the queue of a peer's link; makes one first, if there is none and the peer's address is known.
    ///
    /// # Errors
    /// When there is no link and no address, or no room in the queue.
    pub fn send(&self, to: NodeId, bytes: Vec<u8>) -> Result<(), SendError> {
        if self.common.send(to, bytes)? == Way::LinkToCome {
            reaching::go_on(&self.common);
        }
        Ok(())
    }

    /// Waits until all queued messages are written, or for this time.
    pub fn flush(&self, within: Duration) {
        self.common.flush(within);
    }

    /// Ends all links, and accepts no more.
    pub fn close(&self) {
        self.common.close();
        self.acceptor.close();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.close();
    }
}

/// Accepts connections; each has to prove the key in a thread of its own.
fn accept(listener: TcpListener, common: Arc<Common>) -> io::Result<Acceptor> {
    let limits = StrangerLimits {
        n_max: common.options.n_handshakes_max,
        n_per_address_max: common.options.n_handshakes_per_address_max,
    };
    let unauthenticated = Arc::new(Unauthenticated::new(limits));
    Acceptor::open(listener, unauthenticated, "from another node", move |accepted| {
        let peer = name(accepted.from);
        if let Err(error) = answer(&common, accepted, &peer) {
            common.tell_stranger(error);
        }
    })
}

/// Address as users write it: the listener may be one for IPv6 that takes both kinds.
fn name(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

fn answer(common: &Arc<Common>, accepted: AcceptedConnection, peer: &str) -> Result<(), LinkError> {
    let within = common.options.handshake_timeout;
    let mut deadline_stream = DeadlineStream::new(&accepted.stream, within);
    let caller = Caller::read(&mut deadline_stream, peer, within)?;
    accepted.slot.mark_plausible();
    if caller == Caller::Client {
        let stranger = (deadline_stream, accepted.slot);
        return remote_client::answer(common, &accepted.stream, stranger, peer);
    }
    let side = HandshakeSide { me: &common.me, key: &common.key, options: &common.options, peer };
    let judge = |hello: &Hello| {
        let judged = common.judge(hello, false);
        if matches!(judged, Err(Refusal::NameTaken { .. })) {
            // Where the other one of this name has died, its link or this finds out, and the next try succeeds.
            common.reach(hello.id());
            reaching::go_on(common);
        }
        judged
    };
    let result = side.answer(&accepted.stream, deadline_stream, accepted.slot, judge);
    match result.and_then(|result| link::run(common, &accepted.stream, result, false)) {
        // Usual when both nodes dial.
        Err(LinkError::NotTaken { refusal: Refusal::Linked | Refusal::Itself, .. }) => Ok(()),
        outcome => outcome,
    }
}
