//! What nodes tell each other: states, offers, requests, answers. Tasks never travel in it.
//!
//! # Invariants
//! - At most [`Message::LENGTH_MAX`] bytes: a kind, then numbers with the lowest byte first.
//! - `decode(encode(x)) == x`, and every other row of bytes is refused.

use crate::{LoadState, NodeId};
use serde::{Deserialize, Serialize};

/// One message between the rules of two nodes.
///
/// `operation` is a number of the node that began it; the answer carries it back, so that late answers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// What the node is, and what it was before its last change.
    State {
        /// What it is.
        new: LoadState,
        /// What it was before it became so.
        old: LoadState,
    },
    /// What are you?
    AskState {
        /// Comes back in the answer.
        operation: u32,
    },
    /// The answer to [`Self::AskState`].
    StateIs {
        /// Of the question.
        operation: u32,
        /// What the node is.
        state: LoadState,
    },
    /// Would you take tasks?
    Request {
        /// Comes back in the answer.
        operation: u32,
        /// Tasks that wait, up to 65,535.
        n_tasks: u16,
        /// Who has them, and gets the answer: not always who sent this message.
        origin: NodeId,
        /// How often a node that takes nothing may still pass this on.
        n_hops: u8,
    },
    /// Yes, so many at most.
    Accept {
        /// Of the request.
        operation: u32,
        /// Tasks that the node will take.
        n_tasks_max: u16,
        /// Running tasks per 1000 cores of mean speed: the least loaded node is filled first.
        load_permille: u32,
    },
    /// No.
    Reject {
        /// Of the request.
        operation: u32,
    },
    /// Thank you, no tasks after all.
    Release {
        /// Of the request.
        operation: u32,
    },
    /// Tasks wait here: pull whenever you have room, until there are none.
    Subscribe {
        /// Tasks that wait.
        n_queued: u32,
    },
    /// One task may wait here when your turn comes: pull it then.
    Probe,
    /// There is room here: give me tasks.
    Pull {
        /// Comes back in the answer.
        operation: u32,
        /// Tasks that there is room for; 0: the sender of this has too many offers and gives this one up.
        n_tasks_max: u16,
    },
    /// Tasks are on their way.
    Grant {
        /// Of the pull.
        operation: u32,
        /// How many.
        n_tasks: u16,
        /// How many wait still.
        n_left: u32,
    },
    /// No tasks wait here, and no subscription is left.
    Nothing {
        /// Of the pull.
        operation: u32,
    },
}

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// From another version, or damaged.
    #[error("`{0}` is no kind of balancing message; use one version of sintonia on all nodes")]
    Kind(u8),
    /// Cut off, or longer than it should be.
    #[error("a balancing message of {0} bytes has another length than its kind needs")]
    Length(usize),
    /// No such state.
    #[error("`{0}` is no state of a node")]
    State(u8),
}

impl Message {
    /// Bytes of the longest message.
    pub const LENGTH_MAX: usize = 16;

    /// Appends the message.
    pub fn encode(self, to: &mut Vec<u8>) {
        to.push(self.kind());
        match self {
            Self::State { new, old } => to.extend([code(new), code(old)]),
            Self::Probe => {}
            Self::AskState { operation }
            | Self::Reject { operation }
            | Self::Release { operation }
            | Self::Nothing { operation } => to.extend(operation.to_le_bytes()),
            Self::Subscribe { n_queued } => to.extend(n_queued.to_le_bytes()),
            Self::StateIs { operation, state } => {
                to.extend(operation.to_le_bytes());
                to.push(code(state));
            }
            Self::Request { operation, n_tasks, origin, n_hops } => {
                to.extend(operation.to_le_bytes());
                to.extend(n_tasks.to_le_bytes());
                to.extend(origin.0.to_le_bytes());
                to.push(n_hops);
            }
            Self::Accept { operation, n_tasks_max, load_permille } => {
                to.extend(operation.to_le_bytes());
                to.extend(n_tasks_max.to_le_bytes());
                to.extend(load_permille.to_le_bytes());
            }
            Self::Pull { operation, n_tasks_max } => {
                to.extend(operation.to_le_bytes());
                to.extend(n_tasks_max.to_le_bytes());
            }
            Self::Grant { operation, n_tasks, n_left } => {
                to.extend(operation.to_le_bytes());
                to.extend(n_tasks.to_le_bytes());
                to.extend(n_left.to_le_bytes());
            }
        }
    }

    /// The message that these bytes are, all of them.
    ///
    /// # Errors
    /// When they are none, or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let (kind, rest) = bytes.split_first().ok_or(MessageError::Length(0))?;
        let mut from = Bytes { left: rest, n_bytes: bytes.len() };
        let message = match kind {
            0 => Self::State { new: from.state()?, old: from.state()? },
            1 => Self::AskState { operation: from.u32()? },
            2 => Self::StateIs { operation: from.u32()?, state: from.state()? },
            3 => Self::Request {
                operation: from.u32()?,
                n_tasks: from.u16()?,
                origin: NodeId(from.u32()?),
                n_hops: from.u8()?,
            },
            4 => Self::Accept {
                operation: from.u32()?,
                n_tasks_max: from.u16()?,
                load_permille: from.u32()?,
            },
            5 => Self::Reject { operation: from.u32()? },
            6 => Self::Release { operation: from.u32()? },
            7 => Self::Subscribe { n_queued: from.u32()? },
            8 => Self::Probe,
            9 => Self::Pull { operation: from.u32()?, n_tasks_max: from.u16()? },
            10 => Self::Grant { operation: from.u32()?, n_tasks: from.u16()?, n_left: from.u32()? },
            11 => Self::Nothing { operation: from.u32()? },
            other => return Err(MessageError::Kind(*other)),
        };
        if from.left.is_empty() { Ok(message) } else { Err(MessageError::Length(bytes.len())) }
    }

    /// Whether the source counts it: a state told or asked for before tasks are asked for. See
    /// [`Counts`](crate::Counts).
    pub fn is_information(self, sender: NodeId) -> bool {
        match self {
            Self::State { .. }
            | Self::AskState { .. }
            | Self::Subscribe { .. }
            | Self::Probe
            | Self::Pull { .. } => true,
            Self::Request { origin, .. } => origin != sender,
            _ => false,
        }
    }

    const fn kind(self) -> u8 {
        match self {
            Self::State { .. } => 0,
            Self::AskState { .. } => 1,
            Self::StateIs { .. } => 2,
            Self::Request { .. } => 3,
            Self::Accept { .. } => 4,
            Self::Reject { .. } => 5,
            Self::Release { .. } => 6,
            Self::Subscribe { .. } => 7,
            Self::Probe => 8,
            Self::Pull { .. } => 9,
            Self::Grant { .. } => 10,
            Self::Nothing { .. } => 11,
        }
    }
}

const fn code(state: LoadState) -> u8 {
    match state {
        LoadState::Receiver => 0,
        LoadState::Neutral => 1,
        LoadState::Sender => 2,
    }
}

/// What is left to read.
struct Bytes<'a> {
    left: &'a [u8],
    n_bytes: usize,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (taken, left) =
            self.left.split_first_chunk().ok_or(MessageError::Length(self.n_bytes))?;
        self.left = left;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, MessageError> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, MessageError> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, MessageError> {
        self.take().map(u32::from_le_bytes)
    }

    fn state(&mut self) -> Result<LoadState, MessageError> {
        match self.u8()? {
            0 => Ok(LoadState::Receiver),
            1 => Ok(LoadState::Neutral),
            2 => Ok(LoadState::Sender),
            other => Err(MessageError::State(other)),
        }
    }
}
