//! Events and actions of the core, as values: the contract between the core and the edges of the daemon.
//!
//! # Invariants
//! - Everything may arrive late, twice or never, except messages of the keeper and requests of clients.
//! - Moments are of a clock that all processes of a node share and that goes on while the machine sleeps
//!   (`CLOCK_BOOTTIME`), so that a [`Moment`] means the same to daemon and keeper, even after one of them has
//!   restarted.

use balancing_policies::Timer;
use task_api::{ClientRequest, DaemonAnswer, Presence, Resources, StreamNews};

pub use balancing_policies::{Moment, NodeId};

pub use crate::attempt::{
    Attempt, AttemptEnd, EndedAttempt, ExecContext, Job, Killed, RoomId, RunningAttempt, TaskInput,
    TaskKey, Work,
};
use crate::book::JournalRecord;
pub use crate::peer_message::{
    FRAME_BYTES_MAX, InstanceId, OfferedTask, OfferedWork, PEER_VERSION, PeerError, PeerMessage,
    SharedEnd, SharedWork,
};
pub use crate::pool::NodeCapacity;
pub use crate::terms::{Allocation, NodeSpan, Room, SubmissionTerms};

/// Returns the number of the node with this name. Two names with the same number are as unlikely as two files with
/// the same CRC-32; a node whose number is taken is refused like one whose name is taken.
pub fn node_id(name: &str) -> NodeId {
    NodeId(crc32fast::hash(name.as_bytes()))
}

/// Time, by both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Time for deadlines.
    pub moment: Moment,
    /// Time for users: milliseconds since 1970.
    pub unix_ms: u64,
}

/// Connection of a client; no number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// Another node of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// [`node_id`] of its name.
    pub id: NodeId,
    /// Name of the node.
    pub name: String,
    /// Address at which it is reached: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
    /// Reachability from this node.
    pub presence: Presence,
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Speed relative to an ordinary core, which has 1.
    pub speed: f64,
    /// All that tasks may use on it.
    pub capacity: Resources,
}

/// Cores and speed of this node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Speed relative to an ordinary core, which has 1.
    pub speed: f64,
}

/// Event that the core takes.
#[derive(Debug)]
pub enum CoreEvent {
    /// A client of this node sends a request. It sends the next one when this is answered completely, except for
    /// [`ClientRequest::More`].
    FromClient {
        /// The client.
        client: ClientId,
        /// The request.
        request: ClientRequest,
    },
    /// A client has closed its connection.
    ClientGone(ClientId),
    /// Another node sends a message.
    FromPeer {
        /// Sender.
        from: NodeId,
        /// The message.
        message: PeerMessage,
    },
    /// The keeper sends a message.
    Keeper(KeeperEvent),
    /// The keeper has died, and its processes may still be there: nothing is started until it is
    /// [`KeeperEvent::Gone`] and another keeper has taken its place.
    KeeperAway,
    /// All other known nodes, sorted by number, after anything about one of them has changed.
    Members(Vec<Member>),
    /// This node's cores and speed were measured again.
    Measured(Measurement),
    /// A requested moment has come.
    Timer(CoreTimer),
}

/// Message of the keeper of processes. It repeats ended attempts until it is told to forget them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeeperEvent {
    /// First message of each connection: the running attempts, and those that ended meanwhile.
    Inventory {
        /// Running attempts.
        running: Vec<RunningAttempt>,
        /// Attempts that ended and were not forgotten.
        ended: Vec<EndedAttempt>,
    },
    /// Attempts ended.
    Ended(Vec<EndedAttempt>),
    /// Answers a [`KeeperOrder::Peek`].
    Peeked {
        /// Number of the question.
        peek: u64,
        /// What the attempts have written, of those that run.
        found: Vec<(Attempt, [StreamNews; 2])>,
    },
    /// The keeper and all processes that it had started are gone: its successor begins with a
    /// [`KeeperEvent::Inventory`].
    Gone,
}

/// Order to the keeper of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeeperOrder {
    /// Start an attempt.
    Start(Box<Job>),
    /// End an attempt, if it runs: politely first, unless its lease has expired.
    Kill {
        /// The attempt.
        attempt: Attempt,
        /// Reason; it comes back in [`AttemptEnd::Killed`].
        because: Killed,
    },
    /// Forget these ended attempts: they are on disk here, or of no use.
    Forget(Vec<Attempt>),
    /// Extend leases; the keeper kills attempts that outlive theirs, even without a daemon.
    Extend {
        /// The attempts, among those that run.
        attempts: Vec<Attempt>,
        /// New end of their leases.
        until: Moment,
    },
    /// Tell what attempts have written since; answered by [`KeeperEvent::Peeked`].
    Peek {
        /// Number of the question.
        peek: u64,
        /// The attempts, and how many bytes of their outputs are known.
        wanted: Vec<(Attempt, [u64; 2])>,
    },
    /// End when nothing runs any more and everything is forgotten.
    Leave,
}

/// Timers of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreTimer {
    /// Renewal of leases, search for expired ones, and repetition of what was not acknowledged.
    Sweep,
    /// Timer of the balancing rules.
    Balance(Timer),
}

/// Output of the core. No call blocks; what cannot be sent is lost, and sent again later.
pub trait Out {
    /// Sends a message to another node; if it [`PeerMessage::needs_disk`], only when everything that was appended
    /// before is on disk.
    fn send(&mut self, to: NodeId, message: PeerMessage);
    /// Answers a client, when everything that was appended before is on disk.
    fn answer(&mut self, client: ClientId, answer: DaemonAnswer);
    /// Gives the keeper an order; [`KeeperOrder::Forget`] only when everything that was appended before is on disk.
    fn keeper(&mut self, order: KeeperOrder);
    /// Asks for a [`CoreEvent::Timer`].
    fn timer(&mut self, timer: CoreTimer, at: Moment);
    /// Announces this node's presence to the others.
    fn presence(&mut self, presence: Presence);
    /// Appends a record to the journal; the book has it already.
    fn append(&mut self, record: &JournalRecord);
    /// Ends the daemon when everything that was appended and sent before is on its way.
    fn leave(&mut self);
}
