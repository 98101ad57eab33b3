//! Activity of nodes over the last minutes, from successive samples.
//!
//! # Invariants
//! - Bounded: [`N_POINTS_MAX`] points of nodes and [`N_MOVES_MAX`] moves, whatever the size of the cluster.
//! - A restarted daemon counts from 0 again, which does not appear as a move.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use task_api::{NodeLoadState, NodeStatus, Presence};

/// Maximum number of samples kept for a small cluster.
const N_SAMPLES_MAX: usize = 600;
/// Maximum number of points kept for all nodes together: with more nodes, the history is shorter.
const N_POINTS_MAX: usize = 60_000;
/// Maximum number of moves kept.
const N_MOVES_MAX: usize = 200;

/// History of a cluster, oldest sample first.
#[derive(Clone, Debug, Default)]
pub struct History {
    samples: VecDeque<ClusterSample>,
    moves: VecDeque<Move>,
    counted: BTreeMap<String, Counted>,
}

/// State of all nodes at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterSample {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Points of all nodes.
    pub nodes: Vec<NodeSample>,
}

/// State of a node at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeSample {
    /// Name of the node.
    pub node: String,
    /// Number of running tasks.
    pub n_running: u32,
    /// Number of waiting tasks.
    pub n_queued: u64,
    /// Load state announced to the other nodes.
    pub load: Option<NodeLoadState>,
}

/// Tasks that a node took or gave between two samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Name of the node.
    pub node: String,
    /// Number of tasks taken from other nodes.
    pub n_taken: u64,
    /// Number of tasks given to other nodes.
    pub n_given: u64,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    uptime_ms: u64,
    n_taken: u64,
    n_given: u64,
}

impl History {
    /// Adds the state of all nodes at a moment.
    pub fn add(&mut self, at_ms: u64, nodes: &[NodeStatus]) {
        let known = nodes.iter().filter(|node| node.presence != Presence::Silent);
        known.for_each(|node| self.count(at_ms, node));
        let points = nodes.iter().map(|node| NodeSample {
            node: node.node.clone(),
            n_running: node.n_running,
            n_queued: node.n_queued,
            load: node.load,
        });
        self.samples.push_back(ClusterSample { at_ms, nodes: points.collect() });
        let n_samples_max = (N_POINTS_MAX / nodes.len().max(1)).clamp(2, N_SAMPLES_MAX);
        let n_excess = self.samples.len().saturating_sub(n_samples_max);
        self.samples.drain(..n_excess);
        let n_excess = self.moves.len().saturating_sub(N_MOVES_MAX);
        self.moves.drain(..n_excess);
        self.counted.retain(|name, _| nodes.iter().any(|node| node.node == *name));
    }

    /// Returns the samples after a moment, oldest first.
    pub fn samples_after(&self, at_ms: u64) -> impl Iterator<Item = &ClusterSample> {
        self.samples.iter().filter(move |sample| at_ms < sample.at_ms)
    }

    /// Returns the moves, newest first.
    pub fn moves(&self) -> impl Iterator<Item = &Move> {
        self.moves.iter().rev()
    }

    fn count(&mut self, at_ms: u64, node: &NodeStatus) {
        let (n_taken, n_given) = (node.counts.n_moved_in, node.counts.n_moved_out);
        let now = Counted { uptime_ms: node.uptime_ms, n_taken, n_given };
        let Some(before) = self.counted.insert(node.node.clone(), now) else { return };
        // A restarted daemon counts from 0, so all it has counted happened since the last sample.
        let is_new = now.uptime_ms < before.uptime_ms;
        let since = |now: u64, before: u64| now.saturating_sub(if is_new { 0 } else { before });
        let n_taken = since(n_taken, before.n_taken);
        let n_given = since(n_given, before.n_given);
        if n_taken + n_given != 0 {
            self.moves.push_back(Move { at_ms, node: node.node.clone(), n_taken, n_given });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn moves_are_differences() {
        let (now_ms, mut nodes) = sample::nodes();
        let mut history = History::default();
        history.add(now_ms, &nodes);
        assert_eq!(history.moves().count(), 0, "what was before is not known");
        nodes[0].counts.n_moved_out += 3;
        nodes[1].counts.n_moved_in += 3;
        history.add(now_ms + 1000, &nodes);
        let said: Vec<_> =
            history.moves().map(|it| (it.node.as_str(), it.n_taken, it.n_given)).collect();
        assert_eq!(said, [("beta", 3, 0), ("alpha", 0, 3)]);
    }

    #[test]
    fn a_daemon_that_is_new_counts_from_nothing() {
        let (now_ms, mut nodes) = sample::nodes();
        let mut history = History::default();
        history.add(now_ms, &nodes);
        (nodes[1].uptime_ms, nodes[1].counts.n_moved_in) = (10, 2);
        history.add(now_ms + 1000, &nodes);
        assert_eq!(history.moves().map(|it| it.n_taken).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (now_ms, mut nodes) = sample::nodes();
        let mut history = History::default();
        for at in 0..N_SAMPLES_MAX as u64 + 9 {
            nodes[0].counts.n_moved_out += 1;
            history.add(now_ms + at, &nodes);
        }
        assert_eq!(history.samples_after(0).count(), N_SAMPLES_MAX);
        assert_eq!(history.samples_after(now_ms + 600).count(), 8);
        assert_eq!(history.moves().count(), N_MOVES_MAX);
        let many: Vec<_> = std::iter::repeat_with(|| nodes[0].clone()).take(30_000).collect();
        history.add(now_ms + 9999, &many);
        assert_eq!(history.samples_after(0).count(), 2);
    }
}
