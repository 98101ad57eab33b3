//! Records: events in the life of a node's tasks, as they are written to disk.

use balancing_policies::NodeId;
use serde::{Deserialize, Serialize};
use task_api::{Output, TaskOutcome, Usage};

use super::note::{Failure, Note, Reason};
use crate::attempt::{Attempt, EndedAttempt, ExecContext};
use crate::peer_message::{SharedWork, as_json};
use crate::terms::SubmissionTerms;

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
    /// Tasks were submitted that ask for more than a command.
    SubmittedWith {
        /// Number of the first task.
        first: u64,
        /// Number of tasks.
        n_tasks: u64,
        /// Time in ms since 1970.
        at_ms: u64,
        /// Work of each task.
        work: SharedWork,
        /// Index of the first task and the difference to that of the next, where it is an array.
        array: Option<(u64, u64)>,
        /// What they ask for, with the numbers of all tasks of the submission.
        #[serde(with = "as_json")]
        terms: Box<SubmissionTerms>,
    },
    /// An attempt at a task failed, and the task waits until it is tried again.
    Retried {
        /// Number of the task.
        number: u64,
        /// Attempts that failed, and the time before the next one.
        retry: Retry,
        /// The failure; `None` after a compaction.
        failure: Option<Failure>,
    },
    /// Failures of an array that bounds their number.
    ArrayFailures {
        /// Number of its first task.
        first: u64,
        /// Number of its tasks that failed.
        n_failed: u64,
        /// Time at which the others were canceled for that, in ms since 1970.
        stopped_ms: Option<u64>,
    },
    /// A task has ended, and used this.
    EndedWith(EndRecord, Usage),
    /// A task of another node ended here, and used this.
    ForeignEndedWith(EndedAttempt, Usage),
    /// Tasks are held, or released.
    Held {
        /// Number of the first task.
        first: u64,
        /// Number of the last task.
        last: u64,
        /// True if they are held.
        is_held: bool,
    },
    /// What these tasks waited for has happened, or does not matter any more.
    Unblocked {
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
            Self::Submitted { first, n_tasks, .. } | Self::SubmittedWith { first, n_tasks, .. } => {
                first.saturating_add(n_tasks.saturating_sub(1))
            }
            Self::Given { number, .. }
            | Self::Back { number, .. }
            | Self::CancelWished { number, .. }
            | Self::Tried { number, .. }
            | Self::Started { number, .. }
            | Self::Retried { number, .. }
            | Self::Story { number, .. } => *number,
            Self::Ended(end) | Self::EndedWith(end, _) => end.number,
            Self::Next(number) => number.saturating_sub(1),
            Self::Past(runs) => runs.iter().map(|run| run.last).max().unwrap_or(0),
            // These name other nodes' tasks, or ranges that may go beyond all tasks.
            Self::Around { .. }
            | Self::Canceled { .. }
            | Self::ForeignEnded(_)
            | Self::ForeignEndedWith(..)
            | Self::Held { .. }
            | Self::Unblocked { .. }
            | Self::Acknowledged(_)
            | Self::Damaged { .. }
            | Self::PastCounts { .. }
            | Self::Doubted { .. }
            | Self::ArrayFailures { .. }
            | Self::Settled { .. } => 0,
        }
    }

    /// Record of the end of a task.
    pub fn of_end(end: EndRecord) -> Self {
        match end.usage {
            usage if usage == Usage::default() => Self::Ended(end),
            usage => Self::EndedWith(end, usage),
        }
    }

    /// Record of the end of another node's task.
    pub fn of_foreign_end(ended: EndedAttempt) -> Self {
        match ended.usage {
            usage if usage == Usage::default() => Self::ForeignEnded(ended),
            usage => Self::ForeignEndedWith(ended, usage),
        }
    }

    /// Number of tasks that the record submits.
    pub fn n_submitted(&self) -> u64 {
        match self {
            Self::Submitted { n_tasks, .. } | Self::SubmittedWith { n_tasks, .. } => *n_tasks,
            _ => 0,
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
    /// Ran for too long.
    TimeLimit,
    /// Used too much memory.
    MemoryLimit,
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

impl OutcomeKind {
    /// Shortens an outcome.
    pub fn of(outcome: &TaskOutcome) -> Self {
        match outcome {
            TaskOutcome::Exit(code) => Self::Exit(*code),
            TaskOutcome::Signal(signal) => Self::Signal(*signal),
            TaskOutcome::Canceled => Self::Canceled,
            TaskOutcome::NotStarted(_) => Self::NotStarted,
            TaskOutcome::Lost => Self::Lost,
            TaskOutcome::TimeLimit => Self::TimeLimit,
            TaskOutcome::MemoryLimit => Self::MemoryLimit,
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
            Self::TimeLimit => TaskOutcome::TimeLimit,
            Self::MemoryLimit => TaskOutcome::MemoryLimit,
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
    /// What it has used; not in this encoding, but in a field of its own of the record.
    #[serde(skip)]
    pub usage: Usage,
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
        let (output, usage) = (Output::default(), Usage::default());
        Self { number, instance, node, outcome, started_ms: None, ended_ms, output, usage }
    }
}

/// Attempts at a task that failed, and the time before the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Number of attempts that failed.
    pub n_failed: u32,
    /// Instance that failed last.
    pub instance: u32,
    /// Time at which this was noted, in ms since 1970.
    pub at_ms: u64,
    /// Time from then on before the next attempt, in ms; 0 when it is over.
    pub delay_ms: u64,
}
