//! Separate network models for messages inside a node and between nodes, which take different paths.
//!
//! A [`Pair`] holds the measurement between two ranks. [`Networks`] fits one model to all pairs inside nodes and
//! one to all pairs between nodes: at each length the pair with the median time counts.

use super::{LengthSample, NetModel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measurement between two ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Rank that measured.
    #[serde(default)]
    pub from: u32,
    /// Rank that answered.
    #[serde(default)]
    pub to: u32,
    /// Names of their two nodes; missing in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<[String; 2]>,
    /// Location of both ranks: on one node or on two; missing in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Locality>,
    /// Model of the time of a message between them.
    pub model: NetModel,
}

/// Location of the two ranks of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// Between two ranks of one node.
    WithinNode,
    /// Between two nodes.
    BetweenNodes,
}

/// Network models by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Networks {
    /// Model inside a node; `None` when no node with two ranks was measured.
    pub within_node: Option<NetModel>,
    /// Model between nodes; `None` when only one node was measured.
    pub between_nodes: Option<NetModel>,
}

impl Pair {
    /// Creates the measurement of two ranks on nodes with these names.
    #[must_use]
    pub fn new((from, to): (u32, u32), nodes: [&str; 2], model: NetModel) -> Self {
        let is_within = nodes[0] == nodes[1];
        let place = if is_within { Locality::WithinNode } else { Locality::BetweenNodes };
        let nodes = Some(nodes.map(str::to_owned));
        Self { from, to, nodes, place: Some(place), model }
    }

    /// Returns whether the pair applies to this place; a pair without a known place applies to both.
    fn is_of(&self, place: Locality) -> bool {
        self.place.is_none_or(|own| own == place)
    }
}

impl Networks {
    /// Fits the models to the pairs.
    #[must_use]
    pub fn of(pairs: &[Pair]) -> Self {
        let model = |place| middle(pairs.iter().filter(|pair| pair.is_of(place)));
        Self {
            within_node: model(Locality::WithinNode),
            between_nodes: model(Locality::BetweenNodes),
        }
    }
}

/// Fits a model to the samples of the pair with the median time at each length.
fn middle<'a>(pairs: impl Iterator<Item = &'a Pair>) -> Option<NetModel> {
    let models: Vec<&NetModel> = pairs.map(|pair| &pair.model).collect();
    let mut lengths: BTreeMap<u64, Vec<LengthSample>> = BTreeMap::new();
    for sample in models.iter().flat_map(|model| &model.samples) {
        lengths.entry(sample.n_bytes).or_default().push(*sample);
    }
    let middle = |mut samples: Vec<LengthSample>| {
        samples.sort_by(|a, b| a.median_s.total_cmp(&b.median_s));
        samples.get((samples.len().max(1) - 1) / 2).copied()
    };
    match models.as_slice() {
        [] => None,
        [only] => Some((*only).clone()),
        _ => NetModel::fit(&lengths.into_values().filter_map(middle).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a model of one line, of 1 GB/s, fitted to 21 lengths.
    fn model(latency_s: f64) -> NetModel {
        let sample = |power: u32| {
            let n_bytes = 1_u64 << power;
            let median_s = latency_s + 1e-9 * n_bytes as f64;
            LengthSample { n_bytes, median_s, low_s: median_s, high_s: median_s, n_times: 9 }
        };
        NetModel::fit(&(0..21).map(sample).collect::<Vec<_>>()).expect("enough samples")
    }

    fn pair(ranks: (u32, u32), nodes: [&str; 2], latency_s: f64) -> Pair {
        Pair::new(ranks, nodes, model(latency_s))
    }

    fn latency_us(model: Option<NetModel>) -> Option<f64> {
        model.map(|model| (1e8 * model.pieces[0].latency_s).round() / 100.0)
    }

    /// The latencies inside nodes and between them, in microseconds.
    #[track_caller]
    fn check(pairs: &[Pair], within: Option<f64>, between: Option<f64>) {
        let Networks { within_node, between_nodes } = Networks::of(pairs);
        assert_eq!((latency_us(within_node), latency_us(between_nodes)), (within, between));
    }

    #[test]
    fn pairs_inside_a_node_and_between_nodes_are_kept_apart() {
        let near = pair((0, 1), ["a", "a"], 1e-6);
        let far = pair((0, 2), ["a", "b"], 30e-6);
        check(&[], None, None);
        check(std::slice::from_ref(&near), Some(1.0), None);
        check(std::slice::from_ref(&far), None, Some(30.0));
        check(&[near.clone(), far.clone()], Some(1.0), Some(30.0));
        let others = [pair((0, 3), ["a", "c"], 90e-6), pair((0, 4), ["a", "b"], 40e-6)];
        check(&[others.as_slice(), &[near, far]].concat(), Some(1.0), Some(40.0));
    }

    #[test]
    fn a_file_without_nodes_speaks_for_both() {
        let mut old = Pair { nodes: None, place: None, ..pair((0, 1), ["a", "a"], 2e-6) };
        check(std::slice::from_ref(&old), Some(2.0), Some(2.0));
        old.place = Some(Locality::BetweenNodes);
        check(&[old], None, Some(2.0));
    }
}
