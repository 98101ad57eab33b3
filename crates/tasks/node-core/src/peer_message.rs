//! Messages between nodes, with their encoding.
//!
//! The *home* of a task is the only authority over it. A node that holds tasks of another home renews its leases by
//! numbered requests; an answer extends them from the moment at which its request was sent.

use balancing_policies::NodeId;
use serde::{Deserialize, Serialize};
use task_api::{ClientRequest, DaemonAnswer, Demand, NodeStatus, Output, TaskOutcome, Usage};

use crate::attempt::{Attempt, ExecContext, RoomId, TaskInput, TaskKey};
use crate::terms::{Allocation, NodeSpan, Room};

/// Version of these messages; nodes of another version are refused when they connect.
pub const PEER_VERSION: u16 = 4;
/// Longest message in bytes.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// Task of the sending or the receiving node, and its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId {
    /// Number of the task at its home.
    pub number: u64,
    /// Instance of the task.
    pub instance: u32,
}

impl InstanceId {
    /// Attempt at this task of a home.
    pub fn of_home(self, home: NodeId) -> Attempt {
        Attempt { task: TaskKey { home, number: self.number }, instance: self.instance }
    }
}

impl From<Attempt> for InstanceId {
    fn from(attempt: Attempt) -> Self {
        Self { number: attempt.task.number, instance: attempt.instance }
    }
}

/// Work as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWork {
    /// Title for users.
    pub title: Option<String>,
    /// Program and arguments, with zero bytes between them.
    pub words: String,
    /// Position of its execution context in the offer.
    pub around_idx: u32,
}

/// Work as it is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedWork {
    /// The work.
    pub work: SharedWork,
    /// What each task asks of its node.
    #[serde(with = "as_json")]
    pub demand: Option<Demand>,
}

/// Task as it is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTask {
    /// The task.
    pub share: InstanceId,
    /// Position of its work in the offer.
    pub work_idx: u32,
    /// Index and text of the task.
    pub input: TaskInput,
    /// Room that was found for it on several nodes, of which the receiver is the one that starts it.
    pub span: Option<NodeSpan>,
}

/// End of a task, reported to its home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedEnd {
    /// The task.
    pub share: InstanceId,
    /// Outcome.
    pub outcome: TaskOutcome,
    /// Time of the start, in ms since 1970 by the clock of the node that ran it.
    pub started_ms: u64,
    /// Time of the end, by the same clock.
    pub ended_ms: u64,
    /// Output.
    pub output: Output,
    /// What it has used.
    pub usage: Usage,
}

/// Message from one node to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PeerMessage {
    /// Message between the balancing rules.
    Balance(balancing_policies::PolicyMessage),
    /// From the home: offers tasks. They may be started when a renewal that names them is answered.
    Offer {
        /// Number that comes back in the answer.
        offer: u64,
        /// Incarnation of the only daemon that the offer is for.
        incarnation: u64,
        /// Execution contexts of the works.
        arounds: Vec<ExecContext>,
        /// Works of the tasks.
        works: Vec<OfferedWork>,
        /// The tasks.
        tasks: Vec<OfferedTask>,
    },
    /// To the home: the first tasks of an offer were taken.
    Taken {
        /// Number of the offer.
        offer: u64,
        /// Number of tasks that were taken.
        n_tasks: u32,
        /// Reason why not all were taken.
        because: Option<String>,
    },
    /// To the home: asks to keep tasks that the sender holds.
    Renew {
        /// Number that grows with each request.
        number: u64,
        /// Incarnation of the asking daemon.
        incarnation: u64,
        /// True if these are all tasks of the home that the sender holds.
        whole: bool,
        /// Tasks that the sender holds.
        shares: Vec<InstanceId>,
    },
    /// From the home: allows the node to keep the tasks of a request, except for `gone`.
    Renewed {
        /// Number of the request.
        number: u64,
        /// Tasks that are not the node's any more.
        gone: Vec<InstanceId>,
    },
    /// To the home: gives tasks back.
    Returned {
        /// The tasks.
        shares: Vec<InstanceId>,
        /// Node to which they should go instead.
        wish: Option<NodeId>,
        /// Reason.
        because: String,
    },
    /// To the home: tasks were started, at these times of the sender's clock, in ms since 1970. For users only.
    Started(Vec<(InstanceId, u64)>),
    /// From the home: end these tasks.
    Cancel(Vec<InstanceId>),
    /// To the home: tasks ended. Repeated until it is acknowledged.
    Ended(Vec<SharedEnd>),
    /// From the home: the ends of these tasks are on disk there, or do not matter.
    Acknowledged(Vec<InstanceId>),
    /// Asks a question for a client of the sender.
    Ask {
        /// Number that comes back in the answer.
        ask: u64,
        /// The question.
        #[serde(with = "as_json")]
        request: ClientRequest,
    },
    /// The client of the question with this number has gone.
    AskGone(u64),
    /// Asks for the node's status; the number comes back in the answer.
    HowAreYou(u64),
    /// Answers [`PeerMessage::HowAreYou`].
    IAm {
        /// Number of the question.
        ask: u64,
        /// Status of the sender.
        #[serde(with = "as_json")]
        status: Box<NodeStatus>,
    },
    /// Asks for room for a task that runs on several nodes. Asked again, it keeps the room, or the place in the line.
    AskRoom {
        /// Name of the room; the home of its attempt is the sender.
        room: RoomId,
        /// What the task asks of the node.
        #[serde(with = "as_json")]
        demand: Demand,
        /// True if the node shall keep what gets free for it.
        waits: bool,
    },
    /// Answers [`PeerMessage::AskRoom`]: there is room, or none now.
    HasRoomFor {
        /// Name of the room.
        room: RoomId,
        /// The room.
        given: Option<Box<Room>>,
    },
    /// From the node that runs such a task: keep its room.
    KeepRooms {
        /// Number that comes back in the answer.
        number: u64,
        /// The rooms, with what was given.
        rooms: Vec<(RoomId, Allocation)>,
    },
    /// Answers [`PeerMessage::KeepRooms`].
    RoomsKept {
        /// Number of the question.
        number: u64,
        /// Rooms that are not there any more.
        gone: Vec<RoomId>,
    },
    /// Rooms are not needed any more.
    LeaveRooms(Vec<RoomId>),
    /// To homes whose tasks were not taken for want of room: some of it is free again.
    HasRoom,
    /// Answers [`PeerMessage::Ask`].
    Answer {
        /// Number of the question.
        ask: u64,
        /// The answer.
        #[serde(with = "as_json")]
        answer: DaemonAnswer,
    },
}

/// Reasons why bytes are no message, or a message cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The message is too long.
    #[error("a message of {0} bytes is longer than the {FRAME_BYTES_MAX} that nodes take")]
    TooLong(usize),
    /// The message cannot be decoded.
    #[error(
        "a message of another node cannot be understood: run one version of Sintonia on all nodes"
    )]
    Unknown(#[from] postcard::Error),
    /// Bytes follow the message.
    #[error(
        "a message of another node has {0} bytes too many: run one version of Sintonia on all nodes"
    )]
    Trailing(usize),
}

impl PeerMessage {
    /// Returns whether the message may be sent only when everything that was decided before is on disk: a home must
    /// not forget to which node it gave a task, nor a result that it has acknowledged.
    pub fn needs_disk(&self) -> bool {
        match self {
            Self::Offer { .. } | Self::Ended(_) | Self::Acknowledged(_) | Self::Answer { .. } => {
                true
            }
            Self::Taken { .. }
            | Self::Renew { .. }
            | Self::Renewed { .. }
            | Self::Returned { .. }
            | Self::Started(_)
            | Self::Cancel(_)
            | Self::Ask { .. }
            | Self::AskGone(_)
            | Self::HasRoom
            | Self::AskRoom { .. }
            | Self::HasRoomFor { .. }
            | Self::KeepRooms { .. }
            | Self::RoomsKept { .. }
            | Self::LeaveRooms(_)
            | Self::Balance(_)
            | Self::HowAreYou(_)
            | Self::IAm { .. } => false,
        }
    }

    /// Encodes the message.
    ///
    /// # Errors
    /// When it is longer than [`FRAME_BYTES_MAX`].
    pub fn encode(&self) -> Result<Vec<u8>, PeerError> {
        let bytes = postcard::to_stdvec(self)?;
        if FRAME_BYTES_MAX < bytes.len() {
            return Err(PeerError::TooLong(bytes.len()));
        }
        Ok(bytes)
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// When there are too many bytes, or they are no message.
    pub fn decode(bytes: &[u8]) -> Result<Self, PeerError> {
        if FRAME_BYTES_MAX < bytes.len() {
            return Err(PeerError::TooLong(bytes.len()));
        }
        let (message, rest) = postcard::take_from_bytes(bytes)?;
        if !rest.is_empty() {
            return Err(PeerError::Trailing(rest.len()));
        }
        Ok(message)
    }
}

/// Encodes clients' messages as JSON, which they are made for: it describes itself.
pub(crate) mod as_json {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value).map_err(S::Error::custom)?.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        serde_json::from_str(text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
