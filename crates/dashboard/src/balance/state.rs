//! What the web page asks for again and again, as JSON.

use super::history::{History, Move, Sample};
use balanced::{NodeStatus, TaskStatus};
use serde::{Deserialize, Serialize};

/// Tasks of each kind that are shown.
const N_TASKS_MAX: usize = 100;

/// A cluster as one of its nodes sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageState {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The node that tells.
    pub node: String,
    /// All nodes, by name.
    pub nodes: Vec<NodeStatus>,
    /// What is new of the past, oldest first.
    pub history: Vec<Sample>,
    /// What moved lately, newest first.
    pub moves: Vec<Move>,
    /// Tasks of the node that are not over.
    pub queues: Queues,
}

/// Some tasks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Those that run there.
    pub running: Vec<TaskStatus>,
    /// Those that others hold.
    pub leased: Vec<TaskStatus>,
    /// Those that wait.
    pub queued: Vec<TaskStatus>,
}

impl PageState {
    /// The newest of what `history` knows, with its samples later than `after_ms`.
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

    /// The same with tasks, as many as are shown.
    #[must_use]
    pub fn with_queues(self, mut queues: Queues) -> Self {
        for tasks in [&mut queues.running, &mut queues.leased, &mut queues.queued] {
            tasks.truncate(N_TASKS_MAX);
        }
        Self { queues, ..self }
    }
}

impl Queues {
    /// Most tasks of a kind that are of use.
    pub const N_MAX: usize = N_TASKS_MAX;
}
