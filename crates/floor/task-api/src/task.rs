//! Status of a task, as users see it.

use serde::{Deserialize, Serialize};

use crate::{Output, TaskName, Usage};

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Waits on its home.
    Queued,
    /// Offered to another node, which has not answered yet.
    Offered,
    /// Held by another node, which runs it or will run it.
    Leased,
    /// Runs on its home.
    Running,
    /// Has ended.
    Ended,
}

/// Outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskOutcome {
    /// Exited by itself, with this code.
    Exit(i32),
    /// Killed by this signal, which the daemon did not send.
    Signal(i32),
    /// Canceled by a user.
    Canceled,
    /// Could not be started, for the reason in the sentence.
    NotStarted(String),
    /// Started as often as allowed, and each time its node was lost.
    Lost,
    /// Ended because it ran for longer than it may.
    TimeLimit,
    /// Ended because it used more memory than it had asked for.
    MemoryLimit,
}

/// Status of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// Name of the task.
    pub task: TaskName,
    /// Title for users.
    pub title: String,
    /// Index in its array, where it belongs to one.
    #[serde(default)]
    pub array_index: Option<u64>,
    /// State of the task.
    pub state: TaskState,
    /// Node that holds, runs or ran the task.
    #[serde(default)]
    pub node: Option<String>,
    /// Number of times that the task was given out to run: 1 for the first.
    pub instance: u32,
    /// Time of submission, in ms since 1970.
    pub submitted_ms: u64,
    /// Time of the last start, in ms since 1970.
    #[serde(default)]
    pub started_ms: Option<u64>,
    /// Time of the end, in ms since 1970.
    #[serde(default)]
    pub ended_ms: Option<u64>,
    /// Outcome of the task.
    #[serde(default)]
    pub outcome: Option<TaskOutcome>,
    /// Reason in one line why the task failed, was canceled, or is tried again: the last line that it wrote, or a
    /// sentence; `None` where nothing went wrong or nothing is known.
    #[serde(default)]
    pub why: Option<String>,
    /// Job that it belongs to, where it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What it has used, when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Task that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedTask {
    /// Number of the task at its home.
    pub number: u64,
    /// Node that ran the task.
    pub node: String,
    /// Number of times that the task was given out to run.
    pub instance: u32,
    /// Time of the start, in ms since 1970; `None` if it was never started.
    pub started_ms: Option<u64>,
    /// Time of the end, in ms since 1970.
    pub ended_ms: u64,
    /// Outcome of the task.
    pub outcome: TaskOutcome,
    /// Output of the task; `None` where it was not asked for or is no longer kept.
    #[serde(default)]
    pub output: Option<Output>,
    /// True if the task ended so long ago that only its number and outcome are kept; the other fields are
    /// then void.
    #[serde(default)]
    pub is_brief: bool,
    /// Reason in one line, as in [`TaskStatus::why`].
    #[serde(default)]
    pub why: Option<String>,
    /// What it has used.
    #[serde(default)]
    pub usage: Usage,
    /// Folder on its node that has its output instead.
    #[serde(default)]
    pub output_folder: Option<String>,
}

/// Selection of ended tasks by their outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeFilter {
    /// Ended with code 0.
    Succeeded,
    /// Neither succeeded nor canceled; includes tasks that were lost too often.
    Failed,
    /// Canceled.
    Canceled,
    /// Lost too often.
    Lost,
}

impl OutcomeFilter {
    /// Returns whether this task has ended and is selected.
    pub fn holds_of(self, task: &TaskStatus) -> bool {
        task.outcome.as_ref().is_some_and(|outcome| self.holds(outcome))
    }

    /// Returns whether tasks with this outcome are selected.
    pub fn holds(self, outcome: &TaskOutcome) -> bool {
        match self {
            Self::Succeeded => outcome.is_success(),
            Self::Failed => outcome.is_failure(),
            Self::Canceled => *outcome == TaskOutcome::Canceled,
            Self::Lost => *outcome == TaskOutcome::Lost,
        }
    }
}

impl TaskOutcome {
    /// Returns whether the task exited with code 0.
    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }

    /// Returns whether the task failed: it neither succeeded nor was canceled.
    pub fn is_failure(&self) -> bool {
        !self.is_success() && *self != Self::Canceled
    }

    /// Exit code with which a client that waited for the task reports the outcome: the task's own code; 128
    /// plus the signal, as in shells; 127 where it could not be started; 130 where it was canceled; 1 where
    /// it was lost; 124 where it ran for too long, as with `timeout`; 137 where it used too much memory.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Exit(code) => *code,
            Self::Signal(signal) => 128 + signal,
            Self::NotStarted(_) => 127,
            Self::Canceled => 130,
            Self::Lost => 1,
            Self::TimeLimit => 124,
            Self::MemoryLimit => 137,
        }
    }
}

impl std::fmt::Display for TaskState {
    /// Writes the word that JSON has.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl std::fmt::Display for TaskOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Canceled => f.write_str("canceled"),
            Self::NotStarted(sentence) => write!(f, "not started: {sentence}"),
            Self::Lost => f.write_str("lost too often"),
            Self::TimeLimit => f.write_str("time limit"),
            Self::MemoryLimit => f.write_str("memory limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(outcome: &TaskOutcome, code: i32, words: &str) {
        assert_eq!((outcome.exit_code(), outcome.to_string().as_str()), (code, words));
        assert_eq!(outcome.is_success(), code == 0);
        let json = serde_json::to_string(outcome).unwrap();
        assert_eq!(serde_json::from_str::<TaskOutcome>(&json).unwrap(), *outcome);
    }

    #[test]
    fn outcomes_are_selected() {
        use OutcomeFilter::{Canceled, Failed, Lost, Succeeded};
        let not_started = TaskOutcome::NotStarted("no `x`".to_owned());
        let check = |outcome: &TaskOutcome, expected: &[OutcomeFilter]| {
            let all = [Succeeded, Failed, Canceled, Lost];
            let found: Vec<_> = all.into_iter().filter(|filter| filter.holds(outcome)).collect();
            assert_eq!(found, expected, "{outcome}");
        };
        check(&TaskOutcome::Exit(0), &[Succeeded]);
        check(&TaskOutcome::Exit(1), &[Failed]);
        check(&TaskOutcome::Signal(9), &[Failed]);
        check(&not_started, &[Failed]);
        check(&TaskOutcome::Lost, &[Failed, Lost]);
        check(&TaskOutcome::Canceled, &[Canceled]);
    }

    #[test]
    fn an_outcome_is_a_code_and_a_word() {
        check(&TaskOutcome::Exit(0), 0, "exit 0");
        check(&TaskOutcome::Exit(3), 3, "exit 3");
        check(&TaskOutcome::Signal(9), 137, "signal 9");
        check(&TaskOutcome::Canceled, 130, "canceled");
        check(&TaskOutcome::NotStarted("no `x`".to_owned()), 127, "not started: no `x`");
        check(&TaskOutcome::Lost, 1, "lost too often");
        check(&TaskOutcome::TimeLimit, 124, "time limit");
        check(&TaskOutcome::MemoryLimit, 137, "memory limit");
    }
}
