//! A task as the nodes know it, and one attempt to run it.

use std::sync::Arc;

use balanced::{Limits, Outcome, Output, Submission};
use serde::{Deserialize, Serialize};

use super::{Moment, NodeId};

/// A task: its home and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskKey {
    /// The node that it was submitted to.
    pub home: NodeId,
    /// Its number there, from 1.
    pub number: u64,
}

/// A task that is given out to be run; of one task no two run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// Which task.
    pub task: TaskKey,
    /// How often it was given out, this time included.
    pub instance: u32,
}

/// What commands of one person mostly have in common; it is kept once for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Surroundings {
    /// Folder that the command runs in.
    pub folder: String,
    /// The variables that it sees.
    pub environment: Vec<(String, String)>,
    /// Its bounds.
    pub limits: Limits,
}

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What people call it.
    pub title: Option<Box<str>>,
    /// Program and arguments, with zero bytes between them: a million small vectors would cost more than
    /// their texts.
    words: Box<str>,
    /// Where and how.
    pub around: Arc<Surroundings>,
}

/// An attempt that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which.
    pub attempt: Attempt,
    /// `HOME.NUMBER`, for `SINTONIA_TASK` and names of files.
    pub name: String,
    /// What.
    pub work: Arc<Work>,
    /// For `SINTONIA_ARRAY_INDEX`.
    pub array_index: Option<u64>,
    /// When it has to be ended; never where its home is here.
    pub lease_until: Option<Moment>,
    /// It is ordered before its turn, and the keeper starts it when fewer than so many run; it gives back what has
    /// waited for moments ([`AttemptEnd::NoTurn`]).
    pub n_at_once: Option<u32>,
}

/// An attempt that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Which.
    pub attempt: Attempt,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Which.
    pub attempt: Attempt,
    /// How.
    pub end: AttemptEnd,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// What it wrote.
    pub output: Output,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptEnd {
    /// With this code.
    Exit(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// It could not be started: the sentence says why.
    NotStarted(String),
    /// This node had no room for another process; it may be given out again. The sentence says why.
    NoRoom(String),
    /// We killed it.
    Killed(Killed),
    /// It was ordered before its turn, which did not come; it never ran.
    NoTurn,
}

/// Why we kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Killed {
    /// Somebody canceled the task.
    Canceled,
    /// Its home was not heard for too long, or says that it is not ours any more.
    LeaseOut,
    /// This node leaves; the task runs elsewhere.
    Leaving,
}

impl Work {
    /// The work of a submission; `around` is its surroundings, shared with others that are equal.
    #[must_use]
    pub fn new(submission: &Submission, around: Arc<Surroundings>) -> Self {
        let title = submission.name.as_deref().map(Box::from);
        Self { title, words: submission.command.join("\0").into(), around }
    }

    /// Work whose command is written as [`Self::words`] gives it.
    #[must_use]
    pub fn from_words(title: Option<Box<str>>, words: Box<str>, around: Arc<Surroundings>) -> Self {
        Self { title, words, around }
    }

    /// Program and arguments.
    pub fn command(&self) -> impl Iterator<Item = &str> {
        self.words.split('\0')
    }

    /// Program and arguments with zero bytes between them.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// What people call it: its name, or its program's.
    #[must_use]
    pub fn title(&self) -> &str {
        let program = self.words.split('\0').next().unwrap_or("");
        self.title.as_deref().unwrap_or_else(|| program.rsplit('/').next().unwrap_or(""))
    }
}

impl Surroundings {
    /// Those of a submission.
    #[must_use]
    pub fn of(submission: &Submission) -> Self {
        Self {
            folder: submission.folder.clone(),
            environment: submission.environment.clone(),
            limits: submission.limits.clone(),
        }
    }
}

impl AttemptEnd {
    /// How the task ended, if it did: one that lost its lease or its node is run again.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Exit(code) => Some(Outcome::Exit(*code)),
            Self::Signal(signal) => Some(Outcome::Signal(*signal)),
            Self::NotStarted(sentence) => Some(Outcome::NotStarted(sentence.clone())),
            Self::Killed(Killed::Canceled) => Some(Outcome::Canceled),
            Self::NoRoom(_) | Self::NoTurn | Self::Killed(Killed::LeaseOut | Killed::Leaving) => {
                None
            }
        }
    }
}
