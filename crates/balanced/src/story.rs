//! Why a task is where it is: what happened to it, and how its node stands.

use serde::{Deserialize, Serialize};

use crate::{NodeStatus, TaskStatus};

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum What {
    /// It was handed over and is on disk.
    Submitted,
    /// It was offered to a node.
    Offered {
        /// The node.
        to: String,
    },
    /// A node took it.
    Moved {
        /// The node.
        to: String,
    },
    /// A node did not take it.
    NotTaken {
        /// The node.
        by: String,
        /// Why.
        because: String,
    },
    /// It was started.
    Started {
        /// On this node.
        on: String,
    },
    /// It waits at its home again.
    Back {
        /// Why.
        because: String,
    },
    /// Somebody wants it to end.
    CancelWished,
    /// It is over.
    Ended {
        /// On this node.
        on: String,
        /// How, in words.
        outcome: String,
    },
}

/// Something that happened to a task, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When, by its home's clock.
    pub at_ms: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// Why a task is where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The task as it stands.
    pub status: TaskStatus,
    /// What happened to it, in order; the newest where there was too much.
    pub steps: Vec<Step>,
    /// Steps that are no longer kept.
    pub n_dropped_steps: u32,
    /// Sentences that say why it is where it is.
    pub because: Vec<String>,
    /// Its home as it stands.
    pub home: NodeStatus,
}

impl std::fmt::Display for What {
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
        let step = Step { at_ms: 7, what: What::Moved { to: "beta".to_owned() } };
        let json = r#"{"at_ms":7,"what":"moved","to":"beta"}"#;
        assert_eq!(serde_json::to_string(&step).unwrap(), json);
        assert_eq!(serde_json::from_str::<Step>(json).unwrap(), step);
    }
}
