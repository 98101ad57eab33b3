//! Notes: events in the life of a task that are kept for users, and reasons why a task waits again.

use balancing_policies::NodeId;
use serde::{Deserialize, Serialize};
use task_api::TaskOutcome;

/// Event in the life of a task, with its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Time in ms since 1970.
    pub at_ms: u64,
    /// The event.
    pub what: NotedEvent,
}

/// Event in the life of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotedEvent {
    /// The task was offered to a node.
    Offered(NodeId),
    /// The node took the task.
    Moved(NodeId),
    /// The task was started on the node.
    Started(NodeId),
    /// The task waits again.
    Back(Reason),
    /// A user asked to cancel the task.
    CancelWished,
    /// An attempt failed, and the task is tried again.
    Failed {
        /// Number of attempts that have failed.
        n_failed: u32,
        /// Time before the next one in ms.
        delay_ms: u64,
        /// The last failure.
        failure: Box<Failure>,
    },
}

/// Attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Node that it ended on.
    pub node: NodeId,
    /// Outcome.
    pub outcome: TaskOutcome,
    /// Last line that it wrote; empty where nothing is known.
    pub last_line: Box<str>,
}

impl Failure {
    /// Outcome and last line in words.
    pub fn sentence(&self) -> String {
        match &*self.last_line {
            "" => self.outcome.to_string(),
            line => format!("{}: {line}", self.outcome),
        }
    }
}

/// Reason why a task waits at its home again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The node did not take the task, for the reason in the text.
    NotTaken(NodeId, Box<str>),
    /// The node did not answer the offer in time.
    Unanswered(NodeId),
    /// The node has not asked for the task for too long.
    Silent(NodeId),
    /// The node's daemon restarted and does not know the task.
    Restarted(NodeId),
    /// The node gave the task back, for the reason in the text.
    Returned(NodeId, Box<str>),
    /// The keeper here has died, and its tasks with it.
    KeeperLost,
    /// The node is being stopped.
    Leaving,
    /// Daemon and keeper of the home went down together, and the task with them.
    NodeLost,
    /// The home had no room for another process, for the reason in the text.
    NoRoom(Box<str>),
    /// The task was ordered ahead behind short tasks, and one of them was not short.
    NoTurn,
    /// A node on which the task had room was lost, or had lost the room.
    RoomLost,
}

impl Reason {
    /// Returns whether an attempt to run the task may have been lost: such attempts are limited in number.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Silent(_)
            | Self::Restarted(_)
            | Self::KeeperLost
            | Self::NodeLost
            | Self::RoomLost => true,
            Self::NotTaken(..)
            | Self::Unanswered(_)
            | Self::Returned(..)
            | Self::Leaving
            | Self::NoRoom(_)
            | Self::NoTurn => false,
        }
    }

    /// The other node, where one is involved.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Self::NotTaken(node, _)
            | Self::Unanswered(node)
            | Self::Silent(node)
            | Self::Restarted(node)
            | Self::Returned(node, _) => Some(*node),
            Self::KeeperLost
            | Self::Leaving
            | Self::NodeLost
            | Self::NoRoom(_)
            | Self::NoTurn
            | Self::RoomLost => None,
        }
    }

    /// Describes the reason to users, with the node's name.
    pub fn sentence(&self, node: &str) -> String {
        match self {
            Self::NotTaken(_, because) => format!("`{node}` did not take it: {because}"),
            Self::Unanswered(_) => format!("`{node}` did not answer the offer in time"),
            Self::Silent(_) => {
                format!("`{node}`, which held it, sent nothing until its lease expired")
            }
            Self::Restarted(_) => {
                format!("the daemon of `{node}` restarted and lost it")
            }
            Self::Returned(_, because) => format!("`{node}` gave it back: {because}"),
            Self::KeeperLost => "the process that had started it died, and it was ended".to_owned(),
            Self::Leaving => "the node was stopped".to_owned(),
            Self::NodeLost => "its node went down, and it was ended".to_owned(),
            Self::NoRoom(because) => format!("it could not be started yet: {because}"),
            Self::RoomLost => "one of its nodes was lost, and it was ended".to_owned(),
            Self::NoTurn => {
                "it was queued ahead behind short tasks, one of which took longer; it had not started"
                    .to_owned()
            }
        }
    }
}
