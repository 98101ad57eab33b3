//! List of nodes that have announced that they take tasks.
//!
//! # Invariants
//! - Each node is in the list once; its order has no meaning, so that the last entry replaces a removed one (J.
//!   thesis 2012, 3.3).
//! - At most [`N_RECEIVERS_MAX`]; a further node replaces one drawn at random.

use crate::NodeId;
use random::Random;

const N_RECEIVERS_MAX: usize = 1024;
/// The source asks three, "to avoid collapses".
pub(crate) const N_CANDIDATES_MAX: usize = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct Receivers {
    known: Vec<NodeId>,
}

impl Receivers {
    pub(crate) fn known(&self) -> &[NodeId] {
        &self.known
    }

    /// Adds a node; returns whether another was dropped for it.
    pub(crate) fn add(&mut self, node: NodeId, random: &mut Random) -> bool {
        if self.known.contains(&node) {
            return false;
        }
        let is_full = N_RECEIVERS_MAX <= self.known.len();
        if is_full {
            let given_up = random.below(self.known.len());
            self.known[given_up] = node;
        } else {
            self.known.push(node);
        }
        is_full
    }

    pub(crate) fn remove(&mut self, node: NodeId) {
        if let Some(at) = self.known.iter().position(|known| *known == node) {
            self.known.swap_remove(at);
        }
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(NodeId) -> bool) {
        self.known.retain(|node| is_kept(*node));
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// Returns up to three nodes, drawn at random; they are moved to the front of the list.
    pub(crate) fn candidates(&mut self, random: &mut Random) -> &[NodeId] {
        let n = self.known.len().min(N_CANDIDATES_MAX);
        for k in 0..n {
            let other = k + random.below(self.known.len() - k);
            self.known.swap(k, other);
        }
        &self.known[..n]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_known_once_and_forgotten_at_once() {
        let (mut receivers, mut random) = (Receivers::default(), Random::stream(1, 0));
        for node in [1, 2, 3, 2] {
            assert!(!receivers.add(NodeId(node), &mut random));
        }
        receivers.remove(NodeId(1));
        receivers.remove(NodeId(9));
        assert_eq!(receivers.known(), [NodeId(3), NodeId(2)]);
    }

    #[test]
    fn three_candidates_are_drawn_without_repeats() {
        let (mut receivers, mut random) = (Receivers::default(), Random::stream(1, 0));
        (0..7).for_each(|node| assert!(!receivers.add(NodeId(node), &mut random)));
        let mut seen = [0; 7];
        for _ in 0..700 {
            let drawn = receivers.candidates(&mut random).to_vec();
            assert!(drawn.len() == 3 && drawn[0] != drawn[1] && drawn[1] != drawn[2]);
            drawn.iter().for_each(|node| seen[node.0 as usize] += 1);
        }
        assert!(seen.iter().all(|n| (240..360).contains(n)), "{seen:?}");
        assert_eq!(receivers.known().len(), 7);
    }

    #[test]
    fn the_list_has_a_bound() {
        let (mut receivers, mut random) = (Receivers::default(), Random::stream(1, 0));
        let n_dropped = (0..5000).filter(|node| receivers.add(NodeId(*node), &mut random)).count();
        assert_eq!((receivers.known().len(), n_dropped), (1024, 3976));
    }
}
