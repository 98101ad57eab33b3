//! What was observed before: how many tasks waited, since when nodes are idle, and which jobs failed.

use crate::node::Node;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Shortest time over which the rate of ending tasks is measured, in ms.
const RATE_OVER_MS: u64 = 30_000;
/// Most samples that are kept; beyond that every second one is.
const N_SAMPLES_MAX: usize = 4096;

/// Observations.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    samples: VecDeque<Sample>,
    /// Time since which nodes are idle, by name.
    idle_since_ms: BTreeMap<String, u64>,
    /// Tasks that waited while a node that was asked for was idle for long: such nodes do not help them.
    pub(crate) n_unhelped: u64,
    /// Failures of the last jobs.
    pub failures: Failures,
}

/// Failures of jobs, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Number of failures since a job's nodes last joined.
    pub n: u32,
    /// Time of the last one, in ms since 1970.
    pub at_ms: u64,
    /// Reason of the last one.
    pub why: String,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at_ms: u64,
    n_waiting: u64,
    n_ended: u64,
}

impl Memory {
    /// Memory that begins anew, but for failures.
    pub fn after(failures: Failures) -> Self {
        Self { failures, ..Self::default() }
    }

    /// Takes over the nodes as they are now, and forgets what is older than [`crate::Rule::window_ms`].
    pub fn observe(&mut self, nodes: &[Node], window_ms: u64, now_ms: u64) {
        let n_waiting = nodes.iter().map(|node| node.n_wanted).sum();
        let n_ended = nodes.iter().map(|node| node.n_ended).sum();
        self.samples.push_back(Sample { at_ms: now_ms, n_waiting, n_ended });
        let kept_ms = window_ms.max(RATE_OVER_MS);
        // One older sample is kept, so that the window is known to be covered.
        while self.samples.get(1).is_some_and(|second| second.at_ms + kept_ms <= now_ms) {
            self.samples.pop_front();
        }
        if N_SAMPLES_MAX < self.samples.len() {
            let mut is_kept = false;
            self.samples.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.idle_since_ms
            .retain(|name, _| nodes.iter().any(|node| node.name == *name && node.is_idle()));
        for node in nodes.iter().filter(|node| node.is_idle()) {
            self.idle_since_ms.entry(node.name.clone()).or_insert(now_ms);
        }
        self.n_unhelped = self.n_unhelped.min(n_waiting);
    }

    /// Records that a job failed.
    pub fn failed(&mut self, why: String, now_ms: u64) {
        self.failures = Failures { n: self.failures.n.saturating_add(1), at_ms: now_ms, why };
    }

    /// Records that the nodes of a job have joined.
    pub fn joined(&mut self) {
        self.failures = Failures::default();
    }

    /// Fewest tasks that waited at any time of the last `window_ms`; `None` if that was not observed for so long.
    pub(crate) fn fewest_waiting(&self, window_ms: u64, now_ms: u64) -> Option<u64> {
        self.window(window_ms, now_ms)?.map(|sample| sample.n_waiting).min()
    }

    /// Most tasks that waited at any time of the last `window_ms`; `None` if that was not observed for so long.
    pub(crate) fn most_waiting(&self, window_ms: u64, now_ms: u64) -> Option<u64> {
        self.window(window_ms, now_ms)?.map(|sample| sample.n_waiting).max()
    }

    fn window(&self, window_ms: u64, now_ms: u64) -> Option<impl Iterator<Item = &Sample>> {
        let begins_ms = now_ms.saturating_sub(window_ms);
        let is_covered = self.samples.front().is_some_and(|first| first.at_ms <= begins_ms);
        is_covered.then(|| self.samples.iter().filter(move |sample| begins_ms <= sample.at_ms))
    }

    /// Tasks that end in a second, as seen in the whole time observed.
    pub(crate) fn ended_per_s(&self) -> f64 {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return 0.0;
        };
        // Nodes that left took their counts with them.
        let n_ended = last.n_ended.saturating_sub(first.n_ended);
        let span_ms = last.at_ms.saturating_sub(first.at_ms);
        if span_ms == 0 { 0.0 } else { as_f64(n_ended) * 1e3 / as_f64(span_ms) }
    }

    /// Time for which a node has been idle, in ms.
    pub(crate) fn idle_ms(&self, name: &str, now_ms: u64) -> Option<u64> {
        self.idle_since_ms.get(name).map(|since_ms| now_ms.saturating_sub(*since_ms))
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tasks and of ms are far below 2^52")]
pub(crate) fn as_f64(n: u64) -> f64 {
    n as f64
}
