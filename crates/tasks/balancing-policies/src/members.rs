//! Members of the cluster, in an order that all nodes agree on.
//!
//! # Invariants
//! - Sorted by id, each id once. A node's *position* in this order is its rank in the source's rings.

use crate::NodeId;
use serde::{Deserialize, Serialize};

/// Node as the others know it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Id of the node.
    pub id: NodeId,
    /// Grows each time the node starts anew; everything told to an earlier incarnation is forgotten.
    pub incarnation: u32,
    /// Cores that tasks may use.
    pub n_cores: u32,
    /// Speed of one core, in any unit that is the same for all nodes; 1.0 where it is unknown.
    pub speed: f64,
}

/// All nodes, including this one. Shared, since a simulator holds one list for 100,000 nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    peers: Box<[Peer]>,
    mean_speed: f64,
    /// Greatest speed divided by the least.
    spread: f64,
}

impl Members {
    /// Members with these nodes; of two with the same id, the one with the greater incarnation.
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

    /// The nodes, sorted by id.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Returns whether no node is known, not even the node itself.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Mean speed of the nodes: the source's `bogomips_cluster_average`.
    pub fn mean_speed(&self) -> f64 {
        self.mean_speed
    }

    /// Returns whether the fastest node is at least `times` as fast as the slowest.
    pub(crate) fn is_mixed(&self, times: f64) -> bool {
        times <= self.spread
    }

    /// Position of a node in the order of ids.
    pub fn position(&self, id: NodeId) -> Option<usize> {
        // Where ids are numbered from 0, as in a simulator, the first lookup finds the node.
        match self.peers.get(id.0 as usize) {
            Some(peer) if peer.id == id => Some(id.0 as usize),
            _ => self.peers.binary_search_by_key(&id, |peer| peer.id).ok(),
        }
    }

    /// Entry of a node.
    pub fn peer(&self, id: NodeId) -> Option<&Peer> {
        self.position(id).map(|position| &self.peers[position])
    }
}

/// Returns whether a speed can be used as a divisor.
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
