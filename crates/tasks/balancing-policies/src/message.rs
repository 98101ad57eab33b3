//! Messages between nodes: states, offers, requests, answers. Tasks are never part of them.
//!
//! # Invariants
//! - At most [`PolicyMessage::LENGTH_MAX`] bytes: a kind, then numbers in little-endian order.
//! - `decode(encode(x)) == x`, and every other sequence of bytes is refused.

use crate::{LoadState, NodeId};
use serde::{Deserialize, Serialize};

/// Message between the rules of two nodes.
///
/// `operation` is a number chosen by the node that began it; the answer carries it back, so that late answers are
/// recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyMessage {
    /// Announces the sender's state, and the one before its last change.
    State {
        /// Present state.
        new: LoadState,
        /// State before the last change.
        old: LoadState,
    },
    /// Asks for the receiver's state.
    AskState {
        /// Number that comes back in the answer.
        operation: u32,
    },
    /// Answers [`Self::AskState`].
    StateIs {
        /// Number of the question.
        operation: u32,
        /// Present state.
        state: LoadState,
    },
    /// Asks a node to take tasks.
    Request {
        /// Number that comes back in the answer.
        operation: u32,
        /// Tasks that wait, up to 65,535.
        n_tasks: u16,
        /// Node that has the tasks and gets the answer: not always the sender of this message.
        origin: NodeId,
        /// Number of times that nodes which take nothing may still pass this on.
        n_hops: u8,
    },
    /// Accepts a request.
    Accept {
        /// Number of the request.
        operation: u32,
        /// Most tasks that the node will take.
        n_tasks_max: u16,
        /// Running tasks per 1000 cores of mean speed: the least loaded node is filled first.
        load_permille: u32,
    },
    /// Rejects a request.
    Reject {
        /// Number of the request.
        operation: u32,
    },
    /// Tells a node that accepted that it gets no tasks after all.
    Release {
        /// Number of the request.
        operation: u32,
    },
    /// Announces that tasks wait at the sender: pull whenever there is room, until none are left.
    Subscribe {
        /// Tasks that wait.
        n_queued: u32,
    },
    /// Reserves a turn for one task that may wait at the sender: pull it when the turn comes.
    Probe,
    /// Asks for tasks, since the sender has room.
    Pull {
        /// Number that comes back in the answer.
        operation: u32,
        /// Tasks that there is room for; 0 if the sender has too many offers and drops this one.
        n_tasks_max: u16,
    },
    /// Announces tasks that are on their way.
    Grant {
        /// Number of the pull.
        operation: u32,
        /// Number of these tasks.
        n_tasks: u16,
        /// Tasks that still wait.
        n_left: u32,
    },
    /// Answers that no tasks wait, and that the subscription has ended.
    Nothing {
        /// Number of the pull.
        operation: u32,
    },
    /// Answers that no tasks wait here, but at another node.
    Elsewhere {
        /// Number of the pull.
        operation: u32,
        /// Node at which tasks wait.
        node: NodeId,
        /// Tasks that waited there.
        n_queued: u32,
    },
}

/// Reasons why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The message is from another version, or damaged.
    #[error("unknown kind `{0}` of balancing message; run one version of Sintonia on all nodes")]
    Kind(u8),
    /// The message is cut off, or longer than it should be.
    #[error("a balancing message of {0} bytes has the wrong length for its kind")]
    Length(usize),
    /// There is no such state.
    #[error("`{0}` is no state of a node")]
    State(u8),
}

impl PolicyMessage {
    /// Bytes of the longest message.
    pub const LENGTH_MAX: usize = 16;

    /// Appends the encoded message.
    pub fn encode(self, to: &mut Vec<u8>) {
        let mut put = |kind: u8, numbers: &[&[u8]]| {
            to.push(kind);
            numbers.iter().for_each(|number| to.extend(*number));
        };
        match self {
            Self::State { new, old } => put(0, &[&[new as u8, old as u8]]),
            Self::AskState { operation } => put(1, &[&operation.to_le_bytes()]),
            Self::StateIs { operation, state } => {
                put(2, &[&operation.to_le_bytes(), &[state as u8]]);
            }
            Self::Request { operation, n_tasks, origin, n_hops } => {
                let (operation, n_tasks) = (operation.to_le_bytes(), n_tasks.to_le_bytes());
                put(3, &[&operation, &n_tasks, &origin.0.to_le_bytes(), &[n_hops]]);
            }
            Self::Accept { operation, n_tasks_max, load_permille } => {
                let (operation, n_tasks_max) = (operation.to_le_bytes(), n_tasks_max.to_le_bytes());
                put(4, &[&operation, &n_tasks_max, &load_permille.to_le_bytes()]);
            }
            Self::Reject { operation } => put(5, &[&operation.to_le_bytes()]),
            Self::Release { operation } => put(6, &[&operation.to_le_bytes()]),
            Self::Subscribe { n_queued } => put(7, &[&n_queued.to_le_bytes()]),
            Self::Probe => put(8, &[]),
            Self::Pull { operation, n_tasks_max } => {
                put(9, &[&operation.to_le_bytes(), &n_tasks_max.to_le_bytes()]);
            }
            Self::Grant { operation, n_tasks, n_left } => {
                let (operation, n_tasks) = (operation.to_le_bytes(), n_tasks.to_le_bytes());
                put(10, &[&operation, &n_tasks, &n_left.to_le_bytes()]);
            }
            Self::Nothing { operation } => put(11, &[&operation.to_le_bytes()]),
            Self::Elsewhere { operation, node, n_queued } => {
                let (operation, node) = (operation.to_le_bytes(), node.0.to_le_bytes());
                put(12, &[&operation, &node, &n_queued.to_le_bytes()]);
            }
        }
    }

    /// Decodes a message from all of `bytes`.
    ///
    /// # Errors
    /// When the bytes are no message, or one of another version.
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
            12 => Self::Elsewhere {
                operation: from.u32()?,
                node: NodeId(from.u32()?),
                n_queued: from.u32()?,
            },
            other => return Err(MessageError::Kind(*other)),
        };
        if from.left.is_empty() { Ok(message) } else { Err(MessageError::Length(bytes.len())) }
    }

    /// Returns whether the source counts this message: one that tells or asks for a state before tasks are
    /// requested. See [`PolicyCounters`](crate::PolicyCounters).
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
}

/// Bytes that are left to read.
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
