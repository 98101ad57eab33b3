//! Activity of nodes over the last hour, from successive samples; older ones are further apart.
//!
//! # Invariants
//! - Bounded: [`N_POINTS_MAX`] points of nodes and [`N_MOVES_MAX`] moves, whatever the size of the cluster.
//! - A restarted daemon counts from 0 again, which does not appear as a move.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use task_api::{HistorySample, NodeLoadState, NodeStatus, Presence};

/// Least time between two samples from an age on, each in ms.
const STEPS_MS: [(u64, u64); 3] = [(120_000, 5_000), (600_000, 30_000), (3_600_000, u64::MAX)];
/// Maximum number of samples kept for a small cluster.
const N_SAMPLES_MAX: usize = 600;
/// Time over which the pace of tasks is measured, in ms.
const PACE_MS: u64 = 120_000;
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
    /// Number of tasks submitted there that had ended by themselves since its daemon started.
    #[serde(default)]
    pub n_ended: u64,
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
            n_ended: node.counts.n_succeeded + node.counts.n_failed,
        });
        self.samples.push_back(ClusterSample { at_ms, nodes: points.collect() });
        self.thin(at_ms);
        let n_samples_max = (N_POINTS_MAX / nodes.len().max(1)).clamp(2, N_SAMPLES_MAX);
        let n_excess = self.samples.len().saturating_sub(n_samples_max);
        self.samples.drain(..n_excess);
        let n_excess = self.moves.len().saturating_sub(N_MOVES_MAX);
        self.moves.drain(..n_excess);
        self.counted.retain(|name, _| nodes.iter().any(|node| node.node == *name));
    }

    /// Puts what nodes have kept of their past, by their names, before the samples.
    pub fn begin(&mut self, pasts: &[(String, Vec<HistorySample>)]) {
        let first_ms = self.samples.front().map_or(u64::MAX, |sample| sample.at_ms);
        // All nodes at the moments of the one with the longest past.
        let longest = pasts.iter().max_by_key(|(_, past)| past.len());
        let moments = longest.into_iter().flat_map(|(_, past)| past).map(|sample| sample.at_ms);
        let moments = moments.filter(|at_ms| *at_ms < first_ms).collect::<Vec<_>>();
        for at_ms in moments.into_iter().rev() {
            let points = pasts.iter().filter_map(|(node, past)| {
                let sample = past.iter().rev().find(|sample| sample.at_ms <= at_ms)?;
                let HistorySample { n_running, n_queued, n_succeeded, n_failed, .. } = *sample;
                let n_ended = n_succeeded + n_failed;
                Some(NodeSample { node: node.clone(), n_running, n_queued, load: None, n_ended })
            });
            self.samples.push_front(ClusterSample { at_ms, nodes: points.collect() });
        }
    }

    /// Removes samples that are closer together than they need to be at their age.
    fn thin(&mut self, now_ms: u64) {
        let mut before_ms = None;
        self.samples.retain(|sample| {
            let age_ms = now_ms.saturating_sub(sample.at_ms);
            let step = STEPS_MS.iter().rev().find(|(from_ms, _)| *from_ms < age_ms);
            let is_kept = match (step, before_ms) {
                (Some((_, u64::MAX)), _) => false,
                (Some((_, step_ms)), Some(before_ms)) => {
                    *step_ms <= sample.at_ms.saturating_sub(before_ms)
                }
                _ => true,
            };
            if is_kept {
                before_ms = Some(sample.at_ms);
            }
            is_kept
        });
    }

    /// Time in ms until nothing runs or waits any more, if tasks go on ending as fast as in the last minutes; `None`
    /// while nothing is left, or nothing ended.
    pub fn left_ms(&self) -> Option<u64> {
        let last = self.samples.back()?;
        let n_left: f64 = last
            .nodes
            .iter()
            .map(|point| 0.5 * f64::from(point.n_running) + point.n_queued as f64)
            .sum();
        let since_ms = last.at_ms.saturating_sub(PACE_MS);
        let from = self.samples.iter().find(|sample| since_ms <= sample.at_ms)?;
        let ended_of = |point: &NodeSample| {
            let before = from.nodes.iter().find(|other| other.node == point.node);
            let n_before = before.map_or(point.n_ended, |before| before.n_ended);
            point.n_ended.saturating_sub(n_before)
        };
        let n_ended: u64 = last.nodes.iter().map(ended_of).sum();
        let passed_ms = last.at_ms - from.at_ms;
        if n_left <= 0.0 || n_ended == 0 || passed_ms == 0 {
            return None;
        }
        // A floating-point number becomes the nearest number of the type.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "floats are cut off at the bounds"
        )]
        let left_ms = (n_left * passed_ms as f64 / n_ended as f64) as u64;
        Some(left_ms)
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
    fn the_past_of_the_nodes_comes_first() {
        let (now_ms, nodes) = sample::nodes();
        let mut history = History::default();
        history.add(now_ms, &nodes);
        let past = |n_running, ages_s: &[u64]| {
            let at = |age_s: &u64| now_ms - 1_000 * age_s;
            let sample =
                |age_s| HistorySample { at_ms: at(age_s), n_running, ..Default::default() };
            ages_s.iter().map(sample).collect::<Vec<_>>()
        };
        let pasts = [("alpha", past(3, &[90, 60, 2, 0])), ("beta", past(1, &[70, 10]))];
        history.begin(&pasts.map(|(node, past)| (node.to_owned(), past)));
        let said = history.samples_after(0).map(|sample| {
            let n_running: u32 = sample.nodes.iter().map(|point| point.n_running).sum();
            ((now_ms - sample.at_ms) / 1_000, n_running)
        });
        assert_eq!(said.collect::<Vec<_>>(), [(90, 3), (60, 4), (2, 4), (0, 10)]);
    }

    #[test]
    fn an_hour_is_kept_in_steps() {
        let (now_ms, nodes) = sample::nodes();
        let mut history = History::default();
        (0..5_000).for_each(|second| history.add(now_ms + 1_000 * second, &nodes[..1]));
        let ages: Vec<_> =
            history.samples_after(0).map(|it| (now_ms + 4_999_000 - it.at_ms) / 1_000).collect();
        assert!((3_500..=3_600).contains(&ages[0]), "{}", ages[0]);
        assert!((300..400).contains(&ages.len()), "{}", ages.len());
        assert_eq!(ages[0] - ages[1], 30);
    }

    #[test]
    fn the_time_that_is_left_follows_the_pace() {
        let (now_ms, mut nodes) = sample::nodes();
        nodes.truncate(1);
        (nodes[0].n_running, nodes[0].n_queued) = (4, 18);
        let mut history = History::default();
        history.add(now_ms, &nodes);
        assert_eq!(history.left_ms(), None);
        nodes[0].counts.n_succeeded += 10;
        history.add(now_ms + 5_000, &nodes);
        assert_eq!(history.left_ms(), Some(10_000));
        (nodes[0].n_running, nodes[0].n_queued) = (0, 0);
        history.add(now_ms + 6_000, &nodes);
        assert_eq!(history.left_ms(), None);
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
