//! What nodes say to each other, as bytes and back.
//!
//! The *home* of a task is the one authority over it. A node that holds tasks of another home renews its leases
//! by numbered requests; an answer counts from the moment at which its request was sent.

use balanced::{Answer, NodeStatus, Outcome, Output, Request};
use serde::{Deserialize, Serialize};

use super::{NodeId, Surroundings};

/// Version of these messages; nodes of another one are refused when they connect.
pub const PEER_VERSION: u16 = 1;
/// Longest message in bytes.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// A task of the node that speaks or is spoken to, and its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    /// Number at its home.
    pub number: u64,
    /// Which instance.
    pub instance: u32,
}

/// Work as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWork {
    /// What people call it.
    pub title: Option<String>,
    /// Program and arguments, with zero bytes between them.
    pub words: String,
    /// Which of the offer's surroundings.
    pub around_idx: u32,
}

/// A task as it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTask {
    /// Which.
    pub share: Share,
    /// Which of the offer's works.
    pub work_idx: u32,
    /// Its index, where it is of an array.
    pub array_index: Option<u64>,
}

/// How a task ended, told to its home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedEnd {
    /// Which.
    pub share: Share,
    /// How.
    pub outcome: Outcome,
    /// When it was started, by the clock of the node that ran it.
    pub started_ms: u64,
    /// When it ended, by that clock.
    pub ended_ms: u64,
    /// What it wrote.
    pub output: Output,
}

/// What one node says to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PeerMessage {
    /// What the rules of balancing say to each other.
    Balance(balancing::Message),
    /// From home: take these tasks of mine. They may be started when a renewal that names them is answered.
    Offer {
        /// By which it is answered.
        offer: u64,
        /// To this start of the other daemon alone.
        incarnation: u64,
        /// Surroundings of the works.
        arounds: Vec<Surroundings>,
        /// Works of the tasks.
        works: Vec<SharedWork>,
        /// The tasks.
        tasks: Vec<OfferedTask>,
    },
    /// To home: of this offer I took the first so many.
    Taken {
        /// Which offer.
        offer: u64,
        /// How many.
        n_tasks: u32,
        /// Why not all.
        because: Option<String>,
    },
    /// To home: I hold these tasks of yours; may I go on?
    Renew {
        /// Grows with each request.
        number: u64,
        /// The daemon's start that asks.
        incarnation: u64,
        /// Whether these are all that I hold of yours.
        whole: bool,
        /// Tasks that I hold.
        shares: Vec<Share>,
    },
    /// From home: you may, except for these, which are not yours any more.
    Renewed {
        /// That of the request.
        number: u64,
        /// Those that are not.
        gone: Vec<Share>,
    },
    /// To home: I do not hold these any more.
    Returned {
        /// Which.
        shares: Vec<Share>,
        /// Where they had better go.
        wish: Option<NodeId>,
        /// Why.
        because: String,
    },
    /// To home: I started these, at that time of my clock. For people.
    Started {
        /// Which, and when.
        shares: Vec<(Share, u64)>,
    },
    /// From home: end these.
    Cancel {
        /// Which.
        shares: Vec<Share>,
    },
    /// To home: these ended. Repeated until it is acknowledged.
    Ended {
        /// Which, and how.
        ends: Vec<SharedEnd>,
    },
    /// From home: that these ended is on disk here, or does not matter.
    Acknowledged {
        /// Which.
        shares: Vec<Share>,
    },
    /// A client of mine asks this of you.
    Ask {
        /// By which it is answered.
        ask: u64,
        /// What.
        #[serde(with = "as_json")]
        request: Request,
    },
    /// That client has gone.
    AskGone {
        /// Which.
        ask: u64,
    },
    /// How do you stand?
    HowAreYou {
        /// By which it is answered.
        ask: u64,
    },
    /// To [`PeerMessage::HowAreYou`].
    IAm {
        /// Which.
        ask: u64,
        /// So.
        #[serde(with = "as_json")]
        status: Box<NodeStatus>,
    },
    /// To [`PeerMessage::Ask`].
    Answer {
        /// Which.
        ask: u64,
        /// What.
        #[serde(with = "as_json")]
        answer: Answer,
    },
}

/// Why bytes are no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// It is too long.
    #[error("a message of {n_bytes} bytes is longer than the {FRAME_BYTES_MAX} that nodes take")]
    TooLong {
        /// Its length.
        n_bytes: usize,
    },
    /// It cannot be understood.
    #[error(
        "a message of another node cannot be understood: run one version of Sintonia on all nodes"
    )]
    Unknown {
        /// What the decoder says.
        source: postcard::Error,
    },
    /// It goes on behind its end.
    #[error(
        "a message of another node has {n_bytes} bytes too many: run one version of Sintonia on all nodes"
    )]
    Trailing {
        /// How many.
        n_bytes: usize,
    },
}

impl PeerMessage {
    /// Whether it may be sent only when everything that was decided before is on disk: home must not forget to
    /// whom it gave a task, nor a result that it has acknowledged.
    #[must_use]
    pub fn needs_disk(&self) -> bool {
        match self {
            Self::Offer { .. }
            | Self::Ended { .. }
            | Self::Acknowledged { .. }
            | Self::Answer { .. } => true,
            Self::Taken { .. }
            | Self::Renew { .. }
            | Self::Renewed { .. }
            | Self::Returned { .. }
            | Self::Started { .. }
            | Self::Cancel { .. }
            | Self::Ask { .. }
            | Self::AskGone { .. }
            | Self::Balance(_)
            | Self::HowAreYou { .. }
            | Self::IAm { .. } => false,
        }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// When it is longer than [`FRAME_BYTES_MAX`].
    pub fn encode(&self) -> Result<Vec<u8>, PeerError> {
        let bytes = postcard::to_stdvec(self).map_err(|source| PeerError::Unknown { source })?;
        if FRAME_BYTES_MAX < bytes.len() {
            return Err(PeerError::TooLong { n_bytes: bytes.len() });
        }
        Ok(bytes)
    }

    /// The message of these bytes.
    ///
    /// # Errors
    /// When they are too many, or are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, PeerError> {
        if FRAME_BYTES_MAX < bytes.len() {
            return Err(PeerError::TooLong { n_bytes: bytes.len() });
        }
        let (message, rest) =
            postcard::take_from_bytes(bytes).map_err(|source| PeerError::Unknown { source })?;
        if !rest.is_empty() {
            return Err(PeerError::Trailing { n_bytes: rest.len() });
        }
        Ok(message)
    }
}

/// The words of clients are made for JSON, which says itself what comes next.
mod as_json {
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{DeserializeOwned, Error as _},
        ser::Error as _,
    };

    pub(super) fn serialize<T, S>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Serialize,
        S: Serializer,
    {
        serde_json::to_string(value).map_err(S::Error::custom)?.serialize(serializer)
    }

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: DeserializeOwned,
        D: Deserializer<'de>,
    {
        let text = <&str>::deserialize(deserializer)?;
        serde_json::from_str(text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
