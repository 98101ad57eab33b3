//! History of a task and the reasons for its present state.

use serde::{Deserialize, Serialize};

use crate::{NodeStatus, TaskStatus};

/// Event in the life of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum TaskEvent {
    /// The task was submitted and is on disk.
    Submitted,
    /// The task was offered to a node.
    Offered {
        /// Name of that node.
        to: String,
    },
    /// A node took the task.
    Moved {
        /// Name of that node.
        to: String,
    },
    /// A node did not take the task.
    NotTaken {
        /// Name of that node.
        by: String,
        /// Reason of the refusal.
        because: String,
    },
    /// The task was started.
    Started {
        /// Name of the node that started it.
        on: String,
    },
    /// The task waits at its home again.
    Back {
        /// Reason for its return.
        because: String,
    },
    /// The user asked to cancel the task.
    CancelWished,
    /// The task ended.
    Ended {
        /// Name of the node that it ended on.
        on: String,
        /// Outcome in words.
        outcome: String,
    },
}

/// Event in the life of a task, with its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEvent {
    /// Time of the event in ms, by the clock of the task's home.
    pub at_ms: u64,
    /// The event.
    #[serde(flatten)]
    pub what: TaskEvent,
}

/// Explanation of a task's present state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Status of the task.
    pub status: TaskStatus,
    /// Events of the task in order; only the newest where there were too many.
    pub steps: Vec<HistoryEvent>,
    /// Number of events that are no longer kept.
    pub n_dropped_steps: u32,
    /// Sentences that say why the task is in its state.
    pub because: Vec<String>,
    /// Status of the task's home.
    pub home: NodeStatus,
}

impl std::fmt::Display for TaskEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Submitted => f.write_str("submitted"),
            Self::Offered { to } => write!(f, "offered to `{to}`"),
            Self::Moved { to } => write!(f, "taken by `{to}`"),
            Self::NotTaken { by, because } => write!(f, "not taken by `{by}`: {because}"),
            Self::Started { on } => write!(f, "started on `{on}`"),
            Self::Back { because } => write!(f, "queued again: {because}"),
            Self::CancelWished => f.write_str("to be canceled"),
            Self::Ended { on, outcome } => write!(f, "ended on `{on}`: {outcome}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_flat_object() {
        let step = HistoryEvent { at_ms: 7, what: TaskEvent::Moved { to: "beta".to_owned() } };
        let json = r#"{"at_ms":7,"what":"moved","to":"beta"}"#;
        assert_eq!(serde_json::to_string(&step).unwrap(), json);
        assert_eq!(serde_json::from_str::<HistoryEvent>(json).unwrap(), step);
    }
}
