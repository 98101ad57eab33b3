//! How a node stands, for people who ask why a task waits.

use crate::{Counts, LoadState, Moment, NodeId};
use serde::{Deserialize, Serialize};

/// Nodes that a standing names at most; how many there are stands beside them.
pub const N_NAMED_MAX: usize = 16;

/// What a node knows and does at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// As people write it.
    pub policy: String,
    /// What the node is to others.
    pub state: LoadState,
    /// The source's index of load; above 1, there is capacity left. Nothing while no task runs.
    pub index: Option<f64>,
    /// Tasks that wait here and may be moved.
    pub n_queued: u32,
    /// Tasks that the node runs at once.
    pub n_slots: u32,
    /// Tasks of others that it would take now.
    pub n_room: u32,
    /// Nodes that are thought to have room, or were told that tasks wait here: some of them.
    pub known: Vec<NodeId>,
    /// How many these are.
    pub n_known: u32,
    /// Nodes that have said that tasks wait there: some of them.
    pub offers: Vec<NodeId>,
    /// How many these are.
    pub n_offers: u32,
    /// What is under way.
    pub operation: Option<UnderWay>,
    /// How the last operation ended.
    pub last: Option<Ended>,
    /// Since the node began.
    pub counts: Counts,
}

/// An operation that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    /// When it began.
    pub since: Moment,
    /// Nodes that were asked.
    pub n_asked: u32,
    /// Those that have not answered yet.
    pub n_open: u32,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: Moment,
    /// Why.
    pub why: Why,
}

/// Why an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// So many tasks were given to others, or pulled from them.
    Moved {
        /// How many.
        n_tasks: u32,
    },
    /// No node is known to take tasks.
    NobodyKnown,
    /// All that were asked took none.
    AllRejected {
        /// How many were asked.
        n_asked: u32,
    },
    /// Some took none, the others did not answer in time.
    NoAnswer {
        /// How many were asked.
        n_asked: u32,
    },
    /// The tasks had begun here before an answer came.
    NothingLeft,
    /// The node that had offered tasks has none any more.
    NothingThere,
}

impl std::fmt::Display for Why {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Moved { n_tasks: 1 } => to.write_str("1 task moved"),
            Self::Moved { n_tasks } => write!(to, "{n_tasks} tasks moved"),
            Self::NobodyKnown => to.write_str("no node is known that would take tasks"),
            Self::AllRejected { n_asked } => {
                write!(to, "all {n_asked} nodes that were asked are busy")
            }
            Self::NoAnswer { n_asked } => {
                write!(to, "of {n_asked} nodes that were asked, some did not answer in time")
            }
            Self::NothingLeft => to.write_str("the tasks had begun here before an answer came"),
            Self::NothingThere => to.write_str("the node that had offered tasks has none any more"),
        }
    }
}
