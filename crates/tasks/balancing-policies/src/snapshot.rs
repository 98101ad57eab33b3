//! Snapshot of a node's balancing state, for users who ask why a task waits.

use crate::{LoadState, Moment, NodeId};
use serde::{Deserialize, Serialize};

/// Most nodes that a snapshot names; their total number is given separately.
pub const N_NAMED_MAX: usize = 16;

/// Knowledge and activity of a node at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BalanceSnapshot {
    /// Policy as users write it.
    pub policy: String,
    /// State of the node as other nodes see it.
    pub state: LoadState,
    /// Load index of the source; above 1 there is capacity left. `None` while no task runs.
    pub index: Option<f64>,
    /// Tasks that wait here and may be moved.
    pub n_queued: u32,
    /// Tasks that the node runs at once.
    pub n_slots: u32,
    /// Tasks of other nodes that it would take now.
    pub n_room: u32,
    /// Some of the nodes that are believed to have room, or were told that tasks wait here.
    pub known: Vec<NodeId>,
    /// Number of all such nodes.
    pub n_known: u32,
    /// Some of the nodes that have announced waiting tasks.
    pub offers: Vec<NodeId>,
    /// Number of all such nodes.
    pub n_offers: u32,
    /// Operation under way.
    pub operation: Option<OngoingOperation>,
    /// End of the last operation.
    pub last: Option<OperationEnd>,
    /// Counters since the node began.
    pub counts: PolicyCounters,
}

/// Operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OngoingOperation {
    /// Moment at which it began.
    pub since: Moment,
    /// Nodes that were asked.
    pub n_asked: u32,
    /// Nodes that have not answered yet.
    pub n_open: u32,
}

/// End of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationEnd {
    /// Moment of the end.
    pub at: Moment,
    /// Reason of the end.
    pub why: OperationOutcome,
}

/// Reason why an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationOutcome {
    /// Tasks were given to other nodes, or pulled from them.
    Moved {
        /// Number of tasks.
        n_tasks: u32,
    },
    /// No node is known to take tasks.
    NobodyKnown,
    /// All nodes that were asked took none.
    AllRejected {
        /// Number of nodes that were asked.
        n_asked: u32,
    },
    /// Some nodes took none, the others did not answer in time.
    NoAnswer {
        /// Number of nodes that were asked.
        n_asked: u32,
    },
    /// The tasks had started here before an answer arrived.
    NothingLeft,
    /// The node that had offered tasks has none any more.
    NothingThere,
}

impl std::fmt::Display for OperationOutcome {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Moved { n_tasks: 1 } => to.write_str("1 task moved"),
            Self::Moved { n_tasks } => write!(to, "{n_tasks} tasks moved"),
            Self::NobodyKnown => to.write_str("no known node accepts tasks"),
            Self::AllRejected { n_asked } => {
                write!(to, "all {n_asked} nodes that were asked are busy")
            }
            Self::NoAnswer { n_asked } => {
                write!(to, "of {n_asked} nodes that were asked, some did not answer in time")
            }
            Self::NothingLeft => to.write_str("the tasks started here before an answer arrived"),
            Self::NothingThere => to.write_str("the node that offered tasks has none left"),
        }
    }
}

/// Counters of one node since it began, or sums over nodes.
///
/// `messages` are counted as in the source: messages that tell or ask about states before tasks are requested. With
/// pulling rules a request for tasks is both, and counts here as well; so does a request each time it is passed on.
/// Answers, requests and releases count in `all` only: the source's tables leave answers out (3395 on demand with
/// five others in a domain is no multiple of 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyCounters {
    /// Messages of load information.
    pub messages: u64,
    /// Messages of any kind.
    pub all: u64,
    /// Requests after which tasks moved.
    pub accepted: u64,
    /// Requests that were rejected, or not answered in time.
    pub not_accepted: u64,
    /// Requests that were accepted when no task was left to move.
    pub unused: u64,
    /// Tasks that were handed to other nodes.
    pub moved: u64,
    /// Tasks that other nodes did not take after all.
    pub came_back: u64,
    /// Entries dropped from full lists.
    pub dropped: u64,
}

impl std::ops::AddAssign for PolicyCounters {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.all += other.all;
        self.accepted += other.accepted;
        self.not_accepted += other.not_accepted;
        self.unused += other.unused;
        self.moved += other.moved;
        self.came_back += other.came_back;
        self.dropped += other.dropped;
    }
}
