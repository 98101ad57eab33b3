//! Task as the nodes know it, and one attempt to run it.

use std::sync::Arc;

use balancing_policies::{Moment, NodeId};
use serde::{Deserialize, Serialize};
use task_api::{Demand, Output, Submission, TaskLimits, TaskOutcome, Usage};

use crate::terms::{Allocation, SubmissionTerms};

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

/// Name of the room of an attempt on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoomId {
    /// The attempt.
    pub attempt: Attempt,
    /// Number of the search in which the room was found.
    pub round: u64,
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
    /// What the submission asks for beyond its command, at the home of the tasks.
    pub terms: Option<Arc<SubmissionTerms>>,
    /// What each task asks of its node; `None` where that is one core for any time.
    pub demand: Option<Arc<Demand>>,
    /// The same without what makes no difference for where there is room: limits and expectations of time.
    pub class: Option<Arc<Demand>>,
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
    /// Index and text of the task.
    pub input: TaskInput,
    /// What the attempt is given of this node.
    pub allocation: Allocation,
    /// Moment at which it has to end; `None` where its home is here.
    pub lease_until: Option<Moment>,
    /// For an attempt that is ordered ahead: the keeper starts it when fewer than this many run, and gives it back
    /// when it has waited too long ([`AttemptEnd::NoTurn`]).
    pub n_at_once: Option<u32>,
}

/// What tells a task from the others of its submission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInput {
    /// Value of `SINTONIA_ARRAY_INDEX`.
    pub array_index: Option<u64>,
    /// Value of `SINTONIA_ITEM`.
    pub item: Option<String>,
}

/// Attempt that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAttempt {
    /// The attempt.
    pub attempt: Attempt,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: u64,
    /// What it was given of the node.
    pub allocation: Allocation,
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
    /// What the attempt has used. It is not in this encoding: journals have it in a field of their own, so that those of
    /// the version before are read.
    #[serde(skip)]
    pub usage: Usage,
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
    /// The attempt ran for longer than the task may.
    TimeLimit,
    /// The attempt used more memory than the task had asked for.
    MemoryLimit,
}

impl Work {
    /// Work of a submission; `around` is its execution context, shared with equal ones.
    pub fn new(submission: &Submission, around: Arc<ExecContext>) -> Self {
        let title = submission.name.as_deref().map(Box::from);
        Self::from_words(title, submission.command.join("\0").into(), around)
    }

    /// Work whose command has the form of [`Self::words`].
    pub fn from_words(title: Option<Box<str>>, words: Box<str>, around: Arc<ExecContext>) -> Self {
        Self { title, words, around, terms: None, demand: None, class: None }
    }

    /// Priority of its tasks.
    pub fn priority(&self) -> i32 {
        self.terms.as_ref().map_or(0, |terms| terms.schedule.priority)
    }

    /// The same work with these terms, and what they ask of a node.
    pub fn with_terms(self, terms: Option<Arc<SubmissionTerms>>) -> Self {
        let demand = terms.as_ref().map(|terms| terms.demand.clone());
        Self { terms, ..self.with_demand(demand) }
    }

    /// The same work with what each task asks of its node.
    pub fn with_demand(self, demand: Option<Demand>) -> Self {
        let special = |demand: Option<Demand>| demand.filter(|it| !it.is_plain()).map(Arc::new);
        let room =
            |demand: &Demand| Demand { time_limit_ms: None, expect_ms: None, ..demand.clone() };
        Self { class: special(demand.as_ref().map(room)), demand: special(demand), ..self }
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
            Self::Killed(Killed::TimeLimit) => Some(TaskOutcome::TimeLimit),
            Self::Killed(Killed::MemoryLimit) => Some(TaskOutcome::MemoryLimit),
            Self::NoRoom(_) | Self::NoTurn | Self::Killed(Killed::LeaseOut | Killed::Leaving) => {
                None
            }
        }
    }
}
