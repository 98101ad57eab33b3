//! Records: events in the life of a node's tasks, as they are written to disk.

use balancing_policies::NodeId;
use serde::{Deserialize, Serialize};
use task_api::{Output, TaskOutcome};

use crate::attempt::{Attempt, EndedAttempt, ExecContext};
use crate::peer_message::SharedWork;

/// Event that is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JournalRecord {
    /// Defines an execution context that later works refer to.
    Around {
        /// Number that refers to them.
        idx: u32,
        /// The execution context.
        around: ExecContext,
    },
    /// Tasks were submitted.
    Submitted {
        /// Number of the first task.
        first: u64,
        /// Number of tasks.
        n_tasks: u64,
        /// Time in ms since 1970.
        at_ms: u64,
        /// Work of each task.
        work: SharedWork,
        /// Index of the first task, where it is an array.
        array_first: Option<u64>,
    },
    /// A task was given to another node, which may run it from now on.
    Given {
        /// Number of the task.
        number: u64,
        /// Instance of the task.
        instance: u32,
        /// Node that it was given to.
        to: NodeId,
        /// Incarnation of that node's daemon.
        incarnation: u64,
        /// Time in ms since 1970.
        at_ms: u64,
    },
    /// A task waits here again.
    Back {
        /// Number of the task.
        number: u64,
        /// Instance that came to nothing.
        instance: u32,
        /// Reason of its return.
        reason: Reason,
        /// Time in ms since 1970.
        at_ms: u64,
    },
    /// A task has ended.
    Ended(EndRecord),
    /// These tasks were canceled while all of them waited: they have ended.
    Canceled {
        /// Number of the first task.
        first: u64,
        /// Number of the last task.
        last: u64,
        /// Time in ms since 1970.
        at_ms: u64,
    },
    /// A task was canceled while it ran somewhere.
    CancelWished {
        /// Number of the task.
        number: u64,
        /// Time in ms since 1970.
        at_ms: u64,
    },
    /// Attempts at a task before the last compaction.
    Tried {
        /// Number of the task.
        number: u64,
        /// Number of times that it was given out.
        instance: u32,
        /// Number of these that were lost with a node.
        n_lost: u16,
    },
    /// A task of another node ended here.
    ForeignEnded(EndedAttempt),
    /// The homes of these tasks know that they ended.
    Acknowledged(Vec<Attempt>),
    /// Numbers below this one are used up, although their tasks are forgotten.
    Next(u64),
    /// A task was started here, at its home. Starting does not wait until this is on disk: after a power failure at
    /// this moment, the disk may not show that the task was started.
    Started {
        /// Number of the task.
        number: u64,
        /// Instance of the task.
        instance: u32,
        /// Time in ms since 1970.
        at_ms: u64,
    },
    /// Events of a task before the last compaction.
    Story {
        /// Number of the task.
        number: u64,
        /// Number of notes that were not kept.
        n_dropped: u32,
        /// Notes that were kept.
        notes: Vec<Note>,
    },
    /// Records were missing when the journal was read.
    Damaged {
        /// Time of the discovery, in ms since 1970.
        at_ms: u64,
        /// Number of unreadable bytes.
        n_bytes: u64,
        /// Number of missing records, as far as it is known.
        n_missing: u64,
    },
    /// Records of those of these tasks that have not ended may be missing: they may run elsewhere, or have ended.
    Doubted {
        /// Number of the first task.
        first: u64,
        /// Number of the last task.
        last: u64,
    },
    /// Outcomes of tasks that are no longer kept one by one.
    Past(Vec<ArchivedRange>),
    /// Counts of what is not even kept in ranges.
    PastCounts {
        /// Number of tasks by outcome.
        counts: Vec<(OutcomeKind, u64)>,
        /// Tasks whose output was dropped.
        n_outputs: u64,
        /// Bytes of that output.
        n_bytes: u64,
    },
    /// The uncertainty of these tasks ends: no node runs them, except where a record since has placed them.
    Settled {
        /// Number of the first task.
        first: u64,
        /// Number of the last task.
        last: u64,
    },
}

impl JournalRecord {
    /// Greatest number of an own task that the record names; 0 where it names none.
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
            Self::Next(number) => number.saturating_sub(1),
            Self::Past(runs) => runs.iter().map(|run| run.last).max().unwrap_or(0),
            // These name other nodes' tasks, or ranges that may go beyond all tasks.
            Self::Around { .. }
            | Self::Canceled { .. }
            | Self::ForeignEnded(_)
            | Self::Acknowledged(_)
            | Self::Damaged { .. }
            | Self::PastCounts { .. }
            | Self::Doubted { .. }
            | Self::Settled { .. } => 0,
        }
    }
}

/// Outcome without its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OutcomeKind {
    /// Exited by itself, with this code.
    Exit(i32),
    /// Killed by this signal, which the daemon did not send.
    Signal(i32),
    /// Canceled by a user.
    Canceled,
    /// Could not be started.
    NotStarted,
    /// Started as often as allowed, and each time its node was lost.
    Lost,
}

/// Tasks with consecutive numbers and the same outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedRange {
    /// Number of the first task.
    pub first: u64,
    /// Number of the last task.
    pub last: u64,
    /// Outcome of all of them.
    pub brief: OutcomeKind,
}

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
}

impl OutcomeKind {
    /// Shortens an outcome.
    pub fn of(outcome: &TaskOutcome) -> Self {
        match outcome {
            TaskOutcome::Exit(code) => Self::Exit(*code),
            TaskOutcome::Signal(signal) => Self::Signal(*signal),
            TaskOutcome::Canceled => Self::Canceled,
            TaskOutcome::NotStarted(_) => Self::NotStarted,
            TaskOutcome::Lost => Self::Lost,
        }
    }

    /// Outcome, as far as it is kept.
    pub fn outcome(self) -> TaskOutcome {
        match self {
            Self::Exit(code) => TaskOutcome::Exit(code),
            Self::Signal(signal) => TaskOutcome::Signal(signal),
            Self::Canceled => TaskOutcome::Canceled,
            Self::NotStarted => TaskOutcome::NotStarted("the reason is no longer kept".to_owned()),
            Self::Lost => TaskOutcome::Lost,
        }
    }
}

impl ArchivedRange {
    pub(super) fn n_tasks(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
}

/// End of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Number of the task.
    pub number: u64,
    /// Instance of the task.
    pub instance: u32,
    /// Node that it ended on.
    pub node: NodeId,
    /// Outcome.
    pub outcome: TaskOutcome,
    /// Time of the start, in ms since 1970; `None` if it was never started.
    pub started_ms: Option<u64>,
    /// Time of the end, in ms since 1970.
    pub ended_ms: u64,
    /// Output.
    pub output: Output,
}

impl EndRecord {
    /// End of a task that does not run.
    pub fn without_run(
        number: u64,
        instance: u32,
        node: NodeId,
        outcome: TaskOutcome,
        ended_ms: u64,
    ) -> Self {
        let output = Output::default();
        Self { number, instance, node, outcome, started_ms: None, ended_ms, output }
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
}

impl Reason {
    /// Returns whether an attempt to run the task may have been lost: such attempts are limited in number.
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

    /// The other node, where one is involved.
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
            Self::NoTurn => {
                "it was queued ahead behind short tasks, one of which took longer; it had not started"
                    .to_owned()
            }
        }
    }
}
