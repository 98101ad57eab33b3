//! What the core hears and does, as values: the contract between the core and the edges of the daemon.
//!
//! # Invariants
//! - Everything may come late, twice or never, except what the keeper says and what a client asks.
//! - Times are of a clock that all processes of a node share and that goes on while it sleeps (`CLOCK_BOOTTIME`),
//!   so that daemon and keeper mean the same by a [`Moment`], also after one of them was started anew.

mod attempt;
mod peer;

use balanced::{Answer, Presence, Request};
use balancing::Timer;

pub use balancing::{Moment, NodeId};

use crate::book::Record;

pub use attempt::{Attempt, AttemptEnd, Ended, Job, Killed, Running, Surroundings, TaskKey, Work};
pub use peer::{
    FRAME_BYTES_MAX, OfferedTask, PEER_VERSION, PeerError, PeerMessage, Share, SharedEnd,
    SharedWork,
};

/// The number of the node of this name. Two names of one number are as unlikely as two files of one CRC-32; a
/// node whose number is taken is refused like one whose name is taken.
#[must_use]
pub fn node_id(name: &str) -> NodeId {
    NodeId(crc32fast::hash(name.as_bytes()))
}

/// The time, by both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// For deadlines.
    pub moment: Moment,
    /// For people: milliseconds since 1970.
    pub unix_ms: u64,
}

/// A client's connection; a number is given once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// Another node of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// [`node_id`] of its name.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// Where it is reached: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
    /// Whether it can be reached from here.
    pub presence: Presence,
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Its speed, beside 1 for an ordinary core.
    pub speed: f64,
}

/// What this node can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Its speed, beside 1 for an ordinary core.
    pub speed: f64,
}

/// What the core hears.
#[derive(Debug)]
pub enum Event {
    /// A client of this node wants something. It sends its next request when the last one is answered wholly,
    /// [`Request::More`] apart.
    FromClient {
        /// Who.
        client: ClientId,
        /// What.
        request: Request,
    },
    /// A client has closed its connection.
    ClientGone {
        /// Who.
        client: ClientId,
    },
    /// Another node says something.
    FromPeer {
        /// Who.
        from: NodeId,
        /// What.
        message: PeerMessage,
    },
    /// The keeper of processes says something.
    Keeper(KeeperSays),
    /// The keeper has died, and what it had started may still be there: nothing is started until it is
    /// [`KeeperSays::Gone`] and another one has taken its place.
    KeeperAway,
    /// All other nodes that are known, sorted by number, after anything about one of them changed.
    Members(Vec<Member>),
    /// What this node can do was measured anew.
    Measured(Measurement),
    /// A moment that was asked for has come.
    Timer(CoreTimer),
}

/// What the keeper of processes says. It repeats what ended until it is told to forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeeperSays {
    /// The first word after each connection: what runs and what ended since.
    Inventory {
        /// What runs.
        running: Vec<Running>,
        /// What ended and was not forgotten.
        ended: Vec<Ended>,
    },
    /// These ended.
    Ended(Vec<Ended>),
    /// The keeper is no more, and nothing that it had started: it is replaced by one that begins with an
    /// [`KeeperSays::Inventory`].
    Gone,
}

/// What the keeper of processes is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeeperOrder {
    /// Start this.
    Start(Box<Job>),
    /// End this, if it runs, politely first unless its lease is out.
    Kill {
        /// What.
        attempt: Attempt,
        /// Why; told back in [`AttemptEnd::Killed`].
        because: Killed,
    },
    /// What ended is on disk here, or is of no use: forget it.
    Forget(Vec<Attempt>),
    /// These may run until then; the keeper kills what has outlived its lease, also without a daemon.
    Extend {
        /// Which of those that run.
        attempts: Vec<Attempt>,
        /// Until when.
        until: Moment,
    },
    /// End when nothing runs any more and everything is forgotten.
    Leave,
}

/// Moments that the core asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreTimer {
    /// To renew leases, to find those that ran out, to repeat what was not acknowledged.
    Sweep,
    /// One that the rules of balancing want.
    Balance(Timer),
}

/// What the core does. Nothing waits; what cannot be sent is lost, and is said again later.
pub trait Out {
    /// Tells another node. Only when everything that was written before is on disk, if the message
    /// [`PeerMessage::needs_disk`].
    fn send(&mut self, to: NodeId, message: PeerMessage);
    /// Tells a client, when everything that was written before is on disk.
    fn answer(&mut self, client: ClientId, answer: Answer);
    /// Tells the keeper; [`KeeperOrder::Forget`] only when everything that was written before is on disk.
    fn keeper(&mut self, order: KeeperOrder);
    /// Asks for an [`Event::Timer`].
    fn timer(&mut self, timer: CoreTimer, at: Moment);
    /// Tells other nodes what this one is now.
    fn presence(&mut self, presence: Presence);
    /// Writes this down: the book has it already.
    fn append(&mut self, record: &Record);
    /// Ends the daemon when everything that was written and said before is on its way.
    fn leave(&mut self);
}
