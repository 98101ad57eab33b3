//! What happened to the tasks of a node, as it is written down.

use balanced::{Outcome, Output};
use serde::{Deserialize, Serialize};

use super::{Brief, Note, PastRun};
use crate::core::words::{Attempt, Ended, NodeId, SharedWork, Surroundings};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// Surroundings that later works refer to.
    Around {
        /// By this number.
        idx: u32,
        /// What they are.
        around: Surroundings,
    },
    /// Tasks came.
    Submitted {
        /// Number of the first.
        first: u64,
        /// How many.
        n_tasks: u64,
        /// When.
        at_ms: u64,
        /// What they run.
        work: SharedWork,
        /// Index of the first, where it is an array.
        array_first: Option<u64>,
    },
    /// A task was given to another node, which may run it from now on.
    Given {
        /// Which task.
        number: u64,
        /// As which instance.
        instance: u32,
        /// To whom.
        to: NodeId,
        /// To which start of its daemon.
        incarnation: u64,
        /// When.
        at_ms: u64,
    },
    /// A task waits here again.
    Back {
        /// Which task.
        number: u64,
        /// Which instance has come to nothing.
        instance: u32,
        /// Why.
        reason: Reason,
        /// When.
        at_ms: u64,
    },
    /// A task is over.
    Ended(EndRecord),
    /// Somebody wants these to end, which all wait: they are over.
    Canceled {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
        /// When.
        at_ms: u64,
    },
    /// Somebody wants this one to end, which runs somewhere.
    CancelWished {
        /// Which task.
        number: u64,
        /// When.
        at_ms: u64,
    },
    /// What is known of a task from before the last compaction.
    Tried {
        /// Which task.
        number: u64,
        /// How often it was given out.
        instance: u32,
        /// How many of these came to nothing by the loss of a node.
        n_lost: u16,
    },
    /// A task of another node ended here.
    ForeignEnded(Ended),
    /// Their homes know of these.
    Acknowledged {
        /// Which.
        attempts: Vec<Attempt>,
    },
    /// Numbers below this one are used up, though their tasks are forgotten.
    Next {
        /// The next number.
        number: u64,
    },
    /// A task was started here, at its home. That is not waited for: a node that loses its power at this moment
    /// may have started a task of which its disk says nothing.
    Started {
        /// Which task.
        number: u64,
        /// As which instance.
        instance: u32,
        /// When.
        at_ms: u64,
    },
    /// What had happened to a task before the last compaction.
    Story {
        /// Which task.
        number: u64,
        /// Notes that were not kept.
        n_dropped: u32,
        /// Those that were.
        notes: Vec<Note>,
    },
    /// Records were missing when the journal was read.
    Damaged {
        /// When that was noticed.
        at_ms: u64,
        /// Bytes that made no sense.
        n_bytes: u64,
        /// Records, as far as their number is known.
        n_missing: u64,
    },
    /// Records of these, as far as they are not over, may be missing: they may run elsewhere, or have ended.
    Doubted {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// How tasks ended that are no longer kept one by one.
    Past {
        /// Ranges of them.
        runs: Vec<PastRun>,
    },
    /// What is no longer kept even so.
    PastCounts {
        /// How many tasks ended how.
        counts: Vec<(Brief, u64)>,
        /// Tasks whose output was dropped.
        n_outputs: u64,
        /// Bytes of it.
        n_bytes: u64,
    },
    /// Nobody runs these any more, unless it was said since that he does.
    Settled {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
}

impl Record {
    /// The greatest number of an own task that it names; 0 where it names none.
    #[must_use]
    pub fn number_max(&self) -> u64 {
        match self {
            Self::Submitted { first, n_tasks, .. } => {
                first.saturating_add(n_tasks.saturating_sub(1))
            }
            Self::Given { number, .. }
            | Self::Back { number, .. }
            | Self::CancelWished { number, .. }
            | Self::Tried { number, .. }
            | Self::Started { number, .. }
            | Self::Story { number, .. } => *number,
            Self::Ended(end) => end.number,
            Self::Next { number } => number.saturating_sub(1),
            Self::Past { runs } => runs.iter().map(|run| run.last).max().unwrap_or(0),
            // Those of others, and ranges that may go beyond all tasks.
            Self::Around { .. }
            | Self::Canceled { .. }
            | Self::ForeignEnded(_)
            | Self::Acknowledged { .. }
            | Self::Damaged { .. }
            | Self::PastCounts { .. }
            | Self::Doubted { .. }
            | Self::Settled { .. } => 0,
        }
    }
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Which task.
    pub number: u64,
    /// Which instance.
    pub instance: u32,
    /// Where.
    pub node: NodeId,
    /// How.
    pub outcome: Outcome,
    /// When it was started; nothing if it never was.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: u64,
    /// What it wrote.
    pub output: Output,
}

impl EndRecord {
    /// Of a task that does not run.
    #[must_use]
    pub fn without_run(
        number: u64,
        instance: u32,
        node: NodeId,
        outcome: Outcome,
        ended_ms: u64,
    ) -> Self {
        let output = Output::default();
        Self { number, instance, node, outcome, started_ms: None, ended_ms, output }
    }
}

/// Why a task waits at its home again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The node did not take it, and said why.
    NotTaken(NodeId, Box<str>),
    /// The node did not answer the offer in time.
    Unanswered(NodeId),
    /// The node has not asked for it for too long.
    Silent(NodeId),
    /// The node's daemon was started anew and does not know of it.
    Restarted(NodeId),
    /// The node gave it back, and said why.
    Returned(NodeId, Box<str>),
    /// The process that keeps processes here has died, and they with it.
    KeeperLost,
    /// The node leaves.
    Leaving,
    /// Daemon and keeper of the home went down together, and it with them.
    NodeLost,
    /// The home had no room for another process, and said why.
    NoRoom(Box<str>),
    /// It was next behind tasks that were short, and one of them was not.
    NoTurn,
}

impl Reason {
    /// Whether an attempt to run it may have been lost: that is not tried without end.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Silent(_) | Self::Restarted(_) | Self::KeeperLost | Self::NodeLost => true,
            Self::NotTaken(..)
            | Self::Unanswered(_)
            | Self::Returned(..)
            | Self::Leaving
            | Self::NoRoom(_)
            | Self::NoTurn => false,
        }
    }

    /// The other node, where there is one.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Self::NotTaken(node, _)
            | Self::Unanswered(node)
            | Self::Silent(node)
            | Self::Restarted(node)
            | Self::Returned(node, _) => Some(*node),
            Self::KeeperLost | Self::Leaving | Self::NodeLost | Self::NoRoom(_) | Self::NoTurn => {
                None
            }
        }
    }

    /// For people, with the node's name.
    #[must_use]
    pub fn sentence(&self, node: &str) -> String {
        match self {
            Self::NotTaken(_, because) => format!("`{node}` did not take it: {because}"),
            Self::Unanswered(_) => format!("`{node}` did not answer the offer in time"),
            Self::Silent(_) => {
                format!("`{node}`, which held it, was not heard until its lease ran out")
            }
            Self::Restarted(_) => {
                format!("the daemon of `{node}` was started anew and had lost it")
            }
            Self::Returned(_, because) => format!("`{node}` gave it back: {because}"),
            Self::KeeperLost => "the process that had started it died, and it was ended".to_owned(),
            Self::Leaving => "the node was stopped".to_owned(),
            Self::NodeLost => "its node went down, and it was ended".to_owned(),
            Self::NoRoom(because) => format!("it could not be started yet: {because}"),
            Self::NoTurn => {
                "it stood next behind short tasks, but one took longer, and it had not begun"
                    .to_owned()
            }
        }
    }
}
