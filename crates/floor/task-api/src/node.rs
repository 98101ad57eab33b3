//! Status of a node, as users see it.

use serde::{Deserialize, Serialize};

use crate::{DurationHistogram, Resources, Retention};
use std::collections::BTreeMap;

/// Reachability of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// The node answers.
    #[default]
    Up,
    /// No message has arrived from the node for a while; when the leases of its tasks run out, other nodes
    /// get them.
    Silent,
    /// The node takes no further tasks and leaves when its own have ended.
    Stopping,
    /// The node left of its own accord.
    Left,
}

/// Load state of a node, as the rules of balancing judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeLoadState {
    /// Takes tasks of other nodes.
    Receiver,
    /// Takes its own tasks only.
    Neutral,
    /// Seeks other nodes to take its tasks.
    Sender,
}

/// Counters of a node since its daemon started.
///
/// What became of a task is counted by its home, which alone decides whether a failure is tried again: `n_succeeded`,
/// `n_failed` and `n_canceled` add up to the tasks submitted there that have ended, wherever they ran, and sums over
/// nodes count none twice. `n_ended` counts where attempts ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCounters {
    /// Tasks submitted here.
    pub n_submitted: u64,
    /// Attempts that ended here by themselves or were canceled, whichever node their tasks were submitted to.
    pub n_ended: u64,
    /// Tasks submitted here that ended with code 0.
    #[serde(default)]
    pub n_succeeded: u64,
    /// Tasks submitted here that failed for good: with another code, by a signal, not started, or lost too often.
    #[serde(default)]
    pub n_failed: u64,
    /// Tasks submitted here that were canceled.
    #[serde(default)]
    pub n_canceled: u64,
    /// Attempts at tasks submitted here that failed and were tried again.
    #[serde(default)]
    pub n_retried: u64,
    /// Tasks that other nodes took from here.
    pub n_moved_out: u64,
    /// Tasks that this node took from other nodes.
    pub n_moved_in: u64,
    /// Load information messages sent.
    pub n_messages: u64,
    /// Requests to take tasks that other nodes accepted.
    pub n_accepted: u64,
    /// Requests to take tasks that other nodes did not accept.
    pub n_not_accepted: u64,
    /// Tasks that were queued again because an attempt was lost with its node, daemon or keeper.
    pub n_lost: u64,
    /// Messages between nodes that were dropped because a queue was full.
    pub n_dropped: u64,
}

/// Status of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Name of the node.
    pub node: String,
    /// Address at which other nodes reach it: `host:port`.
    pub address: String,
    /// Reachability of the node.
    pub presence: Presence,
    /// Cores that the node runs tasks on.
    pub n_cores: u32,
    /// Speed relative to an ordinary core, which has 1.
    pub speed: f64,
    /// Load state; this and all following fields are known only of nodes that are up.
    #[serde(default)]
    pub load: Option<NodeLoadState>,
    /// Load index: relative speed times cores, per task.
    #[serde(default)]
    pub index: Option<f64>,
    /// Balancing policy, as written in options.
    #[serde(default)]
    pub policy: Option<String>,
    /// Tasks that run on the node.
    #[serde(default)]
    pub n_running: u32,
    /// Tasks that wait on the node, its own and those of other nodes.
    #[serde(default)]
    pub n_queued: u64,
    /// Tasks of the node that other nodes hold.
    #[serde(default)]
    pub n_leased: u64,
    /// Counters since its daemon started.
    #[serde(default)]
    pub counts: NodeCounters,
    /// Milliseconds since its daemon started.
    #[serde(default)]
    pub uptime_ms: u64,
    /// Troubles that the user should know of and act on, a sentence each, such as a damaged journal.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// Ended tasks that the node keeps, and what it has dropped.
    #[serde(default)]
    pub kept: Retention,
    /// What tasks may use on the node, and use.
    #[serde(default)]
    pub resources: NodeResources,
    /// Number of tasks that each other node took from here since the daemon started, by its name.
    #[serde(default)]
    pub moved_to: BTreeMap<String, u64>,
    /// Durations of the attempts that ended here by themselves since the daemon started.
    #[serde(default)]
    pub durations: DurationHistogram,
    /// Cores that its waiting tasks ask for, of those that may run.
    #[serde(default)]
    pub n_cores_wanted: u64,
    /// Time at which the node ends, in ms since 1970, as with the job of a batch system that it belongs to.
    #[serde(default)]
    pub ends_ms: Option<u64>,
}

/// What tasks may use on a node, and use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeResources {
    /// All that they may use.
    pub capacity: Resources,
    /// What is given to those that run or were promised a place.
    pub used: Resources,
}

/// State of a node at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistorySample {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Tasks that ran.
    pub n_running: u32,
    /// Tasks that waited.
    pub n_queued: u64,
    /// Tasks submitted there that had succeeded since its daemon started.
    pub n_succeeded: u64,
    /// Tasks submitted there that had failed for good since its daemon started.
    pub n_failed: u64,
}

impl Default for NodeResources {
    fn default() -> Self {
        Self { capacity: Resources::nothing(), used: Resources::nothing() }
    }
}

impl std::fmt::Display for Presence {
    /// Writes the word that JSON has.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl std::fmt::Display for NodeLoadState {
    /// Writes the word that JSON has.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}
