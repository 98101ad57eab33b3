//! Who belongs to the cluster, in an order that all nodes agree on.
//!
//! # Invariants
//! - Sorted by id, each id once. A node's *position* in this order is its rank in the source's rings.

use crate::NodeId;
use serde::{Deserialize, Serialize};

/// A node as others know it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Who it is.
    pub id: NodeId,
    /// Grows each time the node starts anew: what was told to an earlier one is forgotten.
    pub incarnation: u32,
    /// Cores that tasks may use.
    pub n_cores: u32,
    /// Speed of one core, in any unit that is the same for all nodes; 1.0 where it is not known.
    pub speed: f64,
}

/// All nodes, the one that asks among them. Shared, since a simulator holds one for 100,000 nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    peers: Box<[Peer]>,
    mean_speed: f64,
    /// Greatest speed over least.
    spread: f64,
}

impl Members {
    /// These nodes; of two with one id, that with the greater incarnation.
    pub fn new(peers: impl IntoIterator<Item = Peer>) -> Self {
        let mut peers: Vec<Peer> = peers.into_iter().collect();
        peers.sort_by_key(|peer| (peer.id, std::cmp::Reverse(peer.incarnation)));
        peers.dedup_by_key(|peer| peer.id);
        let speeds = peers.iter().map(|peer| peer.speed).filter(|speed| is_speed(*speed));
        let (n, sum) = speeds.clone().fold((0.0, 0.0), |(n, sum), speed| (n + 1.0, sum + speed));
        let mean_speed = if 0.0 < n { sum / n } else { 1.0 };
        let spread = speeds.clone().fold(0.0, f64::max) / speeds.fold(f64::INFINITY, f64::min);
        Self { peers: peers.into(), mean_speed, spread }
    }

    /// Sorted by id.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether nobody is known, not even the node itself.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Mean of the nodes' speeds: the source's `bogomips_cluster_average`.
    pub fn mean_speed(&self) -> f64 {
        self.mean_speed
    }

    /// Whether one node is so many times as fast as another one.
    pub(crate) fn is_mixed(&self, times: f64) -> bool {
        times <= self.spread
    }

    /// Where this node stands in the order of ids.
    pub fn position(&self, id: NodeId) -> Option<usize> {
        // Where ids are numbered from 0, as in a simulator, the first look finds it.
        match self.peers.get(id.0 as usize) {
            Some(peer) if peer.id == id => Some(id.0 as usize),
            _ => self.peers.binary_search_by_key(&id, |peer| peer.id).ok(),
        }
    }

    /// What is known of this node.
    pub fn peer(&self, id: NodeId) -> Option<&Peer> {
        self.position(id).map(|position| &self.peers[position])
    }
}

/// Whether a speed can be divided by.
pub(crate) fn is_speed(speed: f64) -> bool {
    speed.is_finite() && 0.0 < speed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(id: u32, incarnation: u32, speed: f64) -> Peer {
        Peer { id: NodeId(id), incarnation, n_cores: 1, speed }
    }

    #[test]
    fn members_are_sorted_and_each_is_there_once() {
        let members = Members::new([peer(9, 0, 4.0), peer(2, 1, 1.0), peer(2, 3, 2.0)]);
        assert_eq!(members.peers(), [peer(2, 3, 2.0), peer(9, 0, 4.0)]);
        assert_eq!(members.position(NodeId(9)), Some(1));
        assert_eq!(members.position(NodeId(3)), None);
        assert_eq!(members.peer(NodeId(2)).map(|peer| peer.incarnation), Some(3));
    }

    #[test]
    fn a_speed_that_is_none_does_not_spoil_the_mean() {
        let members = Members::new([peer(0, 0, f64::NAN), peer(1, 0, 3.0), peer(2, 0, -1.0)]);
        assert!((members.mean_speed() - 3.0).abs() < 1e-12);
        assert!((Members::default().mean_speed()).abs() < 1e-12);
    }
}
