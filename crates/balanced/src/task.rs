//! A task as people see it.

use serde::{Deserialize, Serialize};

use crate::{Output, TaskName};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// It waits on its home.
    Queued,
    /// It is offered to another node, which has not answered yet.
    Offered,
    /// Another node holds it, and runs it or will do so.
    Leased,
    /// It runs on its home.
    Running,
    /// It is over.
    Ended,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal, which was not ours.
    Signal(i32),
    /// Somebody canceled it.
    Canceled,
    /// It could not be started: the sentence says why.
    NotStarted(String),
    /// It was started as often as it may be, and each time its node was lost.
    Lost,
}

/// A task as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// Its name.
    pub task: TaskName,
    /// What people call it.
    pub title: String,
    /// Its index, where it is of an array.
    #[serde(default)]
    pub array_index: Option<u64>,
    /// Where it stands.
    pub state: TaskState,
    /// The node that holds, runs or ran it.
    #[serde(default)]
    pub node: Option<String>,
    /// How often it was given out to be run: 1 for the first time.
    pub instance: u32,
    /// When it was submitted.
    pub submitted_ms: u64,
    /// When it was started last.
    #[serde(default)]
    pub started_ms: Option<u64>,
    /// When it ended.
    #[serde(default)]
    pub ended_ms: Option<u64>,
    /// How it ended.
    #[serde(default)]
    pub outcome: Option<Outcome>,
}

/// A task that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTask {
    /// Its number at its home.
    pub number: u64,
    /// The node that ran it.
    pub node: String,
    /// How often it was given out to be run.
    pub instance: u32,
    /// When it was started; nothing if it never was.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What it wrote; nothing where that was not asked for or is no longer kept.
    #[serde(default)]
    pub output: Option<Output>,
    /// It ended so long ago that only its number and how it ended are kept; all else is void.
    #[serde(default)]
    pub is_brief: bool,
}

impl Outcome {
    /// Whether it ended with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }

    /// The exit code by which a client that waited for it tells how it ended: its own code; 128 and the signal,
    /// as shells have it; 127 where it could not be started; 130 where it was canceled; 1 where it was lost.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Exit(code) => *code,
            Self::Signal(signal) => 128 + signal,
            Self::NotStarted(_) => 127,
            Self::Canceled => 130,
            Self::Lost => 1,
        }
    }
}

impl std::fmt::Display for TaskState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Queued => "queued",
            Self::Offered => "offered",
            Self::Leased => "leased",
            Self::Running => "running",
            Self::Ended => "ended",
        })
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Canceled => f.write_str("canceled"),
            Self::NotStarted(sentence) => write!(f, "not started: {sentence}"),
            Self::Lost => f.write_str("lost too often"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(outcome: &Outcome, code: i32, words: &str) {
        assert_eq!((outcome.exit_code(), outcome.to_string().as_str()), (code, words));
        assert_eq!(outcome.is_success(), code == 0);
        let json = serde_json::to_string(outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&json).unwrap(), *outcome);
    }

    #[test]
    fn an_outcome_is_a_code_and_a_word() {
        check(&Outcome::Exit(0), 0, "exit 0");
        check(&Outcome::Exit(3), 3, "exit 3");
        check(&Outcome::Signal(9), 137, "signal 9");
        check(&Outcome::Canceled, 130, "canceled");
        check(&Outcome::NotStarted("no `x`".to_owned()), 127, "not started: no `x`");
        check(&Outcome::Lost, 1, "lost too often");
    }
}
