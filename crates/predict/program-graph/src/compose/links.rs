//! The network between each two ranks: inside a node, or between nodes.
//!
//! A round of a collective operation goes between ranks of a certain distance, and lasts as long as the slowest of its
//! messages: inside a node only where no pair of that distance is on two nodes.

use super::network::Network;

/// Networks of a machine, for the ranks of a program.
#[derive(Clone, Debug)]
pub struct Links<'a> {
    between: &'a Network,
    inside: &'a Network,
    /// Node of each rank; empty if all messages go between nodes.
    nodes: Vec<u32>,
    /// Whether ranks of the distance `2^k` are on two nodes, by `k`.
    leaves: Vec<bool>,
    is_one_node: bool,
    /// Largest number of ranks on other nodes that a rank has.
    n_outside: usize,
}

impl<'a> Links<'a> {
    /// Returns the networks between ranks that all are on nodes of their own.
    #[must_use]
    pub const fn uniform(network: &'a Network) -> Self {
        Self {
            between: network,
            inside: network,
            nodes: Vec::new(),
            leaves: Vec::new(),
            is_one_node: false,
            n_outside: usize::MAX,
        }
    }

    /// Returns the networks between ranks, given the node of each; without these, all messages go between nodes.
    #[must_use]
    pub fn of(between: &'a Network, inside: Option<&'a Network>, nodes: Vec<u32>) -> Self {
        let (Some(inside), false) = (inside, nodes.is_empty()) else {
            return Self::uniform(between);
        };
        let n_ranks = nodes.len();
        let is_apart = |a: usize, b: usize| nodes[a] != nodes[b];
        let leaves = |distance: usize| {
            (0..n_ranks).any(|rank| {
                let partner = rank ^ distance;
                is_apart(rank, (rank + distance) % n_ranks)
                    || (partner < n_ranks && is_apart(rank, partner))
            })
        };
        let n_rounds = n_ranks.next_power_of_two().trailing_zeros();
        let mut sizes = vec![0; nodes.len()];
        for node in &nodes {
            sizes[*node as usize] += 1;
        }
        let smallest = sizes.iter().copied().filter(|size| 0 < *size).min().unwrap_or(0);
        Self {
            between,
            inside,
            leaves: (0..n_rounds).map(|round| leaves(1 << round)).collect(),
            is_one_node: smallest == n_ranks,
            n_outside: n_ranks - smallest,
            nodes,
        }
    }

    /// Returns the network between two ranks.
    #[must_use]
    pub fn network(&self, from: usize, to: usize) -> &'a Network {
        match (self.nodes.get(from), self.nodes.get(to)) {
            (Some(from), Some(to)) if from == to => self.inside,
            _ => self.between,
        }
    }

    /// Returns the slowest network between ranks of the distance `2^round`.
    #[must_use]
    pub fn of_round(&self, round: u32) -> &'a Network {
        if self.leaves.get(round as usize) == Some(&false) { self.inside } else { self.between }
    }

    /// Returns the slowest network between ranks that follow each other, the last and the first included.
    #[must_use]
    pub const fn of_ring(&self) -> &'a Network {
        if self.is_one_node { self.inside } else { self.between }
    }

    /// Returns the networks of a rank's messages to all others, with their numbers: of the rank with most messages to
    /// other nodes.
    #[must_use]
    pub fn to_all(&self, n_ranks: usize) -> [(&'a Network, usize); 2] {
        let n_others = n_ranks.saturating_sub(1);
        let n_outside = self.n_outside.min(n_others);
        [(self.between, n_outside), (self.inside, n_others - n_outside)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE_S: f64 = 1e-3;

    /// Checks the networks between ranks 0 and 3, 3 and 4, of the third round, and of a ring: true for that inside.
    #[track_caller]
    fn check(nodes: &[u32], expected: [bool; 4], to_all: [usize; 2]) {
        let (between, inside) = (Network::uniform(OUTSIDE_S, 0.0), Network::uniform(1e-6, 0.0));
        let links = Links::of(&between, Some(&inside), nodes.to_vec());
        let networks =
            [links.network(0, 3), links.network(3, 4), links.of_round(2), links.of_ring()];
        assert_eq!(networks.map(is_inside), expected);
        assert_eq!(links.to_all(8).map(|(_, n)| n), to_all);
    }

    fn is_inside(network: &Network) -> bool {
        network.one_way_s(0) < 0.1 * OUTSIDE_S
    }

    #[test]
    fn ranks_of_a_node_have_its_network() {
        check(&[0, 0, 0, 0, 1, 1, 1, 1], [true, false, false, false], [4, 3]);
        check(&[0; 8], [true; 4], [0, 7]);
    }

    #[test]
    fn without_nodes_all_messages_leave() {
        check(&[], [false; 4], [7, 0]);
    }
}
