//! State polled by the web page, as JSON.

use super::history::{History, Move, Sample};
use serde::{Deserialize, Serialize};
use task_api::{NodeStatus, TaskStatus};

/// Maximum number of tasks shown of each kind.
const N_TASKS_MAX: usize = 100;

/// Cluster as seen by one of its nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageState {
    /// Time of the state, in ms since 1970.
    pub at_ms: u64,
    /// Name of the node that reports.
    pub node: String,
    /// All nodes, sorted by name.
    pub nodes: Vec<NodeStatus>,
    /// New samples of the history, oldest first.
    pub history: Vec<Sample>,
    /// Recent moves, newest first.
    pub moves: Vec<Move>,
    /// Unfinished tasks of the node.
    pub queues: Queues,
}

/// Unfinished tasks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Tasks running on the node.
    pub running: Vec<TaskStatus>,
    /// Tasks held by other nodes.
    pub leased: Vec<TaskStatus>,
    /// Waiting tasks.
    pub queued: Vec<TaskStatus>,
}

impl PageState {
    /// Creates the latest state from `history`, with its samples after `after_ms`.
    #[must_use]
    pub fn new(node: &str, nodes: Vec<NodeStatus>, history: &History, after_ms: u64) -> Self {
        let history_new: Vec<Sample> = history.samples_after(after_ms).cloned().collect();
        Self {
            at_ms: history.samples_after(0).last().map_or(0, |sample| sample.at_ms),
            node: node.to_owned(),
            nodes,
            history: history_new,
            moves: history.moves().cloned().collect(),
            queues: Queues::default(),
        }
    }

    /// Adds tasks, as many as are shown.
    #[must_use]
    pub fn with_queues(self, mut queues: Queues) -> Self {
        for tasks in [&mut queues.running, &mut queues.leased, &mut queues.queued] {
            tasks.truncate(N_TASKS_MAX);
        }
        Self { queues, ..self }
    }
}

impl Queues {
    /// Maximum number of tasks of a kind that are useful.
    pub const N_MAX: usize = N_TASKS_MAX;
}
