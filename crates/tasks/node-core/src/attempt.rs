//! Task as the nodes know it, and one attempt to run it.

use std::sync::Arc;

use balancing_policies::{Moment, NodeId};
use serde::{Deserialize, Serialize};
use task_api::{FailureRules, Output, Submission, TaskLimits, TaskOutcome};

/// Task: its home and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskKey {
    /// Node that the task was submitted to.
    pub home: NodeId,
    /// Number of the task at its home, from 1.
    pub number: u64,
}

/// Attempt to run a task; no two of one task run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The task.
    pub task: TaskKey,
    /// Number of times that the task was given out, including this one.
    pub instance: u32,
}

/// Environment that commands of one user mostly share; stored once for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExecContext {
    /// Working folder of the command.
    pub folder: String,
    /// Environment variables of the command.
    pub environment: Vec<(String, String)>,
    /// Bounds of each task.
    pub limits: TaskLimits,
}

/// Rules of a submission for tasks that fail, with the numbers of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionRules {
    /// Number of the first task.
    pub first: u64,
    /// Number of the last task.
    pub last: u64,
    /// The rules.
    pub failures: FailureRules,
}

/// Command to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Title for users.
    pub title: Option<Box<str>>,
    /// Program and arguments, with zero bytes between them: a million small vectors would cost more than
    /// their texts.
    words: Box<str>,
    /// Folder, variables and bounds.
    pub around: Arc<ExecContext>,
    /// Rules for failures, at the home of the tasks; `None` where a failure has no consequence.
    pub rules: Option<SubmissionRules>,
}

/// Attempt that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The attempt.
    pub attempt: Attempt,
    /// `HOME.NUMBER`, for `SINTONIA_TASK` and file names.
    pub name: String,
    /// Command to be run.
    pub work: Arc<Work>,
    /// Value of `SINTONIA_ARRAY_INDEX`.
    pub array_index: Option<u64>,
    /// Moment at which it has to end; `None` where its home is here.
    pub lease_until: Option<Moment>,
    /// For an attempt that is ordered ahead: the keeper starts it when fewer than this many run, and gives it back
    /// when it has waited too long ([`AttemptEnd::NoTurn`]).
    pub n_at_once: Option<u32>,
}

/// Attempt that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAttempt {
    /// The attempt.
    pub attempt: Attempt,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: u64,
}

/// Attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAttempt {
    /// The attempt.
    pub attempt: Attempt,
    /// End of the attempt.
    pub end: AttemptEnd,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time of the end, in milliseconds since 1970.
    pub ended_ms: u64,
    /// Output.
    pub output: Output,
}

/// End of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptEnd {
    /// Exited with this code.
    Exit(i32),
    /// Killed by a signal that the keeper did not send.
    Signal(i32),
    /// Could not be started, for the reason in the sentence.
    NotStarted(String),
    /// Found no room for another process on this node, for the reason in the sentence; it may be given out again.
    NoRoom(String),
    /// Killed by the keeper.
    Killed(Killed),
    /// Was ordered ahead, and its turn did not come; it never ran.
    NoTurn,
}

/// Reason for which the keeper kills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Killed {
    /// The task was canceled.
    Canceled,
    /// The home did not answer for too long, or says that the task is not this node's any more.
    LeaseOut,
    /// This node leaves; the task runs elsewhere.
    Leaving,
}

impl Work {
    /// Work of a submission; `around` is its execution context, shared with equal ones.
    pub fn new(submission: &Submission, around: Arc<ExecContext>) -> Self {
        let title = submission.name.as_deref().map(Box::from);
        Self::from_words(title, submission.command.join("\0").into(), around)
    }

    /// Work whose command has the form of [`Self::words`].
    pub fn from_words(title: Option<Box<str>>, words: Box<str>, around: Arc<ExecContext>) -> Self {
        Self { title, words, around, rules: None }
    }

    /// The same work with these rules.
    pub fn with_rules(self, rules: Option<SubmissionRules>) -> Self {
        Self { rules, ..self }
    }

    /// Program and arguments.
    pub fn command(&self) -> impl Iterator<Item = &str> {
        self.words.split('\0')
    }

    /// Program and arguments with zero bytes between them.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Title for users: the task's name, or its program's.
    pub fn title(&self) -> &str {
        let program = self.words.split('\0').next().unwrap_or("");
        self.title.as_deref().unwrap_or_else(|| program.rsplit('/').next().unwrap_or(""))
    }
}

impl SubmissionRules {
    /// Rules of `n_tasks` tasks from the number `first` on; `None` where a failure has no consequence.
    pub fn new(first: u64, n_tasks: u64, failures: FailureRules) -> Option<Self> {
        let has_effect = 0 < failures.n_retries_max || failures.n_fails_max.is_some();
        let last = first.saturating_add(n_tasks.saturating_sub(1));
        has_effect.then_some(Self { first, last, failures })
    }
}

impl ExecContext {
    /// Execution context of a submission.
    pub fn of(submission: &Submission) -> Self {
        Self {
            folder: submission.folder.clone(),
            environment: submission.environment.clone(),
            limits: submission.limits.clone(),
        }
    }
}

impl AttemptEnd {
    /// Outcome of the task, if it ended: a task that lost its lease or its node is run again.
    pub fn outcome(&self) -> Option<TaskOutcome> {
        match self {
            Self::Exit(code) => Some(TaskOutcome::Exit(*code)),
            Self::Signal(signal) => Some(TaskOutcome::Signal(*signal)),
            Self::NotStarted(sentence) => Some(TaskOutcome::NotStarted(sentence.clone())),
            Self::Killed(Killed::Canceled) => Some(TaskOutcome::Canceled),
            Self::NoRoom(_) | Self::NoTurn | Self::Killed(Killed::LeaseOut | Killed::Leaving) => {
                None
            }
        }
    }
}
