//! Samples of a process: call paths with the number of times that a thread was found in them.

use events::ProcessKey;
use serde::{Deserialize, Serialize};

/// [`PathNode::address`] in place of the outermost functions of a path that are not known.
pub const CUT: u64 = 1;

/// All samples of a process so far; every message replaces the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSamples {
    /// Process on its node.
    pub process: ProcessKey,
    /// The collector's name of the node.
    pub node: String,
    /// Processor time of a thread between two samples, in ns.
    pub period_ns: u64,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that were dropped.
    pub lost: u64,
    /// Number of samples of which the outermost functions are not known.
    pub cut: u64,
    /// Processor time of the collector for these samples, in ns.
    pub cost_ns: u64,
    /// Reason why some threads are not sampled, or why there are no samples; empty if there is none.
    pub problem: String,
    /// Executable mappings, lines of `/proc/PID/maps`.
    pub modules: String,
    /// Tree of call paths; the first node is the root, and each node stands behind its parent.
    pub nodes: Vec<PathNode>,
}

/// Node of the tree of call paths: a function, and the place in it that was being executed or called from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathNode {
    /// Position of the caller.
    pub parent: u32,
    /// Address behind the call, or behind the interrupted place; [`CUT`] for unknown callers.
    pub address: u64,
    /// Number of samples that ended here.
    pub samples: u64,
}
