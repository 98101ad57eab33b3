//! A node as people see it.

use serde::{Deserialize, Serialize};

use crate::Kept;

/// Whether a node can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It answers.
    Up,
    /// It has not been heard for a while; its tasks are given to others when their leases have run out.
    Silent,
    /// It takes no further tasks and leaves when its own have ended.
    Stopping,
    /// It left by itself.
    Left,
}

/// What the rules of balancing say of a node's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadWord {
    /// It takes tasks of others.
    Receiver,
    /// It takes its own tasks only.
    Neutral,
    /// It seeks others who take its tasks.
    Sender,
}

/// What a node has counted since its daemon started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Tasks submitted here.
    pub n_submitted: u64,
    /// Tasks that ended here, wherever they came from.
    pub n_ended: u64,
    /// Tasks that other nodes took from here.
    pub n_moved_out: u64,
    /// Tasks that were taken from other nodes.
    pub n_moved_in: u64,
    /// Messages of information that were sent.
    pub n_messages: u64,
    /// Requests to take tasks that others accepted.
    pub n_accepted: u64,
    /// Requests to take tasks that others did not accept.
    pub n_not_accepted: u64,
    /// Tasks that were queued again because the node that held them was lost.
    pub n_lost: u64,
    /// Messages between nodes that were dropped because a queue was full.
    pub n_dropped: u64,
}

/// A node as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name.
    pub node: String,
    /// Where others reach it: `host:port`.
    pub address: String,
    /// Whether it can be reached.
    pub presence: Presence,
    /// Cores that it runs tasks on.
    pub n_cores: u32,
    /// Its speed, beside 1 for an ordinary core.
    pub speed: f64,
    /// What follows is known of nodes that are up.
    #[serde(default)]
    pub load: Option<LoadWord>,
    /// Relative speed times cores for each task, by which its load is judged.
    #[serde(default)]
    pub index: Option<f64>,
    /// The policy of balancing, as it is written in options.
    #[serde(default)]
    pub policy: Option<String>,
    /// Tasks that run there.
    #[serde(default)]
    pub n_running: u32,
    /// Tasks that wait there, its own and those of others.
    #[serde(default)]
    pub n_queued: u64,
    /// Tasks of its own that other nodes hold.
    #[serde(default)]
    pub n_leased: u64,
    /// What it has counted.
    #[serde(default)]
    pub counts: Counts,
    /// Milliseconds since its daemon started.
    #[serde(default)]
    pub uptime_ms: u64,
    /// What a person should know of it and do, a sentence each: its journal was damaged.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// What it keeps of ended tasks, and what it has dropped.
    #[serde(default)]
    pub kept: Kept,
}

impl std::fmt::Display for Presence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Silent => "silent",
            Self::Stopping => "stopping",
            Self::Left => "left",
        })
    }
}

impl std::fmt::Display for LoadWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Receiver => "receiver",
            Self::Neutral => "neutral",
            Self::Sender => "sender",
        })
    }
}
