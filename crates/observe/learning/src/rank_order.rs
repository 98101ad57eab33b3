//! Order of ranks over nodes with less traffic between nodes.
//!
//! Each node keeps its number of ranks. Nodes are filled one after the other with the ranks that exchange most with those
//! already there; then pairs of ranks on different nodes are exchanged as long as that saves traffic (Kernighan and Lin's
//! rule, one pair at a time).

use display::units::{bytes, percent};
use serde::{Deserialize, Serialize};

/// Most ranks for which an order is looked for.
const N_RANKS_MAX: usize = 2048;
/// Most rounds of exchanges.
const N_ROUNDS_MAX: usize = 8;
/// Least share of the traffic between nodes that has to be saved.
const SAVED_MIN: f64 = 0.1;

/// Order of ranks over nodes; see the module documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankOrder {
    /// Node of each rank.
    pub nodes: Vec<String>,
    /// Bytes between nodes as it ran.
    pub bytes_before: u64,
    /// Bytes between nodes in this order.
    pub bytes_after: u64,
}

impl RankOrder {
    pub(crate) fn in_words(&self) -> String {
        let (before, after) = (self.bytes_before, self.bytes_after);
        let saved = percent(1.0 - after as f64 / before.max(1) as f64);
        format!(
            "another order of the ranks would send {} between nodes instead of {}, {saved} less: \
             `sintonia learnt show NAME --rank-file` prints it",
            bytes(after),
            bytes(before)
        )
    }

    /// Rank file of Open MPI: a line for each rank.
    pub fn rank_file(&self) -> String {
        let mut n_on = std::collections::BTreeMap::new();
        let mut line = |(rank, node): (usize, &String)| {
            let slot: &mut usize = n_on.entry(node.clone()).or_default();
            *slot += 1;
            format!("rank {rank}={node} slot={}\n", *slot - 1)
        };
        self.nodes.iter().enumerate().map(&mut line).collect()
    }

    /// Host of each rank, one to a line, as MPICH (`-f`) and Slurm (`SLURM_HOSTFILE`) read it.
    pub fn host_file(&self) -> String {
        self.nodes.iter().map(|node| format!("{node}\n")).collect()
    }
}

/// Returns an order that saves traffic between nodes, given the node of each rank and the bytes from rank to rank; `None`
/// if there is none worth the effort.
pub fn rank_order(nodes: &[String], traffic: &[(u32, u32, u64)]) -> Option<RankOrder> {
    // In the order of their first ranks, so that rank 0 stays where it is.
    let mut names: Vec<&String> = Vec::new();
    for node in nodes {
        if !names.contains(&node) {
            names.push(node);
        }
    }
    if names.len() < 2 || N_RANKS_MAX < nodes.len() {
        return None;
    }
    let now: Vec<usize> =
        nodes.iter().filter_map(|node| names.iter().position(|name| *name == node)).collect();
    let graph = Graph::of(nodes.len(), traffic);
    let mut order = graph.filled(&now, names.len());
    graph.improve(&mut order);
    let mut kept = now.clone();
    graph.improve(&mut kept);
    if graph.between(&kept) < graph.between(&order) {
        order = kept;
    }
    let (bytes_before, bytes_after) = (graph.between(&now), graph.between(&order));
    let is_worth = (bytes_after as f64) <= (1.0 - SAVED_MIN) * bytes_before as f64;
    let is_any = 0 < bytes_before && is_worth;
    let nodes = order.iter().map(|node| names[*node].clone()).collect();
    is_any.then_some(RankOrder { nodes, bytes_before, bytes_after })
}

/// Bytes between ranks, in both directions together.
struct Graph {
    neighbors: Vec<Vec<(usize, u64)>>,
}

impl Graph {
    fn of(n_ranks: usize, traffic: &[(u32, u32, u64)]) -> Self {
        let mut neighbors = vec![Vec::new(); n_ranks];
        for (from, to, n_bytes) in traffic {
            let (from, to) = (*from as usize, *to as usize);
            if from != to && from < n_ranks && to < n_ranks {
                neighbors[from].push((to, *n_bytes));
                neighbors[to].push((from, *n_bytes));
            }
        }
        Self { neighbors }
    }

    /// Bytes between nodes.
    fn between(&self, nodes: &[usize]) -> u64 {
        let of_rank = |(rank, neighbors): (usize, &Vec<(usize, u64)>)| {
            let others = neighbors.iter().filter(|(other, _)| nodes[rank] != nodes[*other]);
            others.map(|(_, n_bytes)| *n_bytes).sum::<u64>()
        };
        // Each pair was counted at both of its ranks.
        self.neighbors.iter().enumerate().map(of_rank).sum::<u64>() / 2
    }

    /// Fills each node in turn, beginning with the lowest rank that is left.
    fn filled(&self, now: &[usize], n_nodes: usize) -> Vec<usize> {
        let n_ranks = now.len();
        let mut order = vec![usize::MAX; n_ranks];
        for node in 0..n_nodes {
            let mut attraction = vec![0_u64; n_ranks];
            for _ in 0..now.iter().filter(|at| **at == node).count() {
                let left = (0..n_ranks).filter(|rank| order[*rank] == usize::MAX);
                let best = left.max_by_key(|rank| (attraction[*rank], std::cmp::Reverse(*rank)));
                let Some(rank) = best else { break };
                order[rank] = node;
                for (other, n_bytes) in &self.neighbors[rank] {
                    attraction[*other] = attraction[*other].saturating_add(*n_bytes);
                }
            }
        }
        order
    }

    /// Exchanges pairs of ranks as long as that saves traffic.
    fn improve(&self, nodes: &mut [usize]) {
        for _ in 0..N_ROUNDS_MAX {
            let mut has_changed = false;
            for rank in 0..nodes.len() {
                let targets: Vec<usize> =
                    self.neighbors[rank].iter().map(|(other, _)| nodes[*other]).collect();
                let is_target = |other: &usize| {
                    nodes[*other] != nodes[rank] && targets.contains(&nodes[*other])
                };
                let others = (0..nodes.len()).filter(is_target);
                let gains = others.map(|other| (self.gain(nodes, rank, other), other));
                if let Some((gain, other)) = gains.max_by_key(|(gain, _)| *gain)
                    && 0 < gain
                {
                    nodes.swap(rank, other);
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
        }
    }

    /// Bytes between nodes that an exchange of two ranks saves.
    fn gain(&self, nodes: &[usize], one: usize, other: usize) -> i128 {
        let moved = |rank: usize, partner: usize| -> i128 {
            let (from, to) = (nodes[rank], nodes[partner]);
            let of = |(neighbor, n_bytes): &(usize, u64)| match nodes[*neighbor] {
                // Traffic of the two with each other stays between nodes.
                _ if *neighbor == partner => 0,
                node if node == to => i128::from(*n_bytes),
                node if node == from => -i128::from(*n_bytes),
                _ => 0,
            };
            self.neighbors[rank].iter().map(of).sum()
        };
        moved(one, other) + moved(other, one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::Random;

    fn dealt(n_ranks: usize, n_nodes: usize) -> Vec<String> {
        (0..n_ranks).map(|rank| format!("n{}", rank % n_nodes)).collect()
    }

    #[test]
    fn a_ring_dealt_over_nodes_is_joined_again() {
        let ring: Vec<_> = (0..8).map(|rank| (rank, (rank + 1) % 8, 100)).collect();
        let order = rank_order(&dealt(8, 2), &ring).expect("all neighbors are on the other node");
        assert_eq!((order.bytes_before, order.bytes_after), (800, 200));
        let file = order.rank_file();
        assert!(file.starts_with("rank 0=n0 slot=0\nrank 1="), "{file}");
        assert_eq!(order.host_file().lines().count(), 8);
    }

    #[test]
    fn nothing_is_told_where_nothing_is_saved() {
        let ring: Vec<_> = (0..4).map(|rank| (rank, (rank + 1) % 4, 100)).collect();
        let blocks: Vec<_> = ["a", "a", "b", "b"].map(str::to_owned).into();
        assert_eq!(rank_order(&blocks, &ring), None);
        assert_eq!(rank_order(&dealt(4, 1), &ring), None);
        assert_eq!(rank_order(&dealt(4, 2), &[]), None);
        assert_eq!(rank_order(&[], &ring), None);
    }

    proptest! {
        /// Each node keeps its number of ranks, the bytes are those of the order, and never more than before.
        #[test]
        fn an_order_is_a_permutation_that_saves(seed: u64, n_ranks in 2..24_usize, n_nodes in 2..5_usize) {
            let mut random = Random::new(seed);
            let mut rank = || u32::try_from(random.below(n_ranks)).unwrap();
            let traffic: Vec<_> = (0..3 * n_ranks).map(|at| (rank(), rank(), at as u64)).collect();
            let nodes = dealt(n_ranks, n_nodes);
            if let Some(order) = rank_order(&nodes, &traffic) {
                let sorted = |mut nodes: Vec<String>| { nodes.sort(); nodes };
                prop_assert_eq!(sorted(order.nodes.clone()), sorted(nodes.clone()));
                let between = |nodes: &[String]| traffic.iter()
                    .filter(|(from, to, _)| nodes[*from as usize] != nodes[*to as usize])
                    .map(|(_, _, n_bytes)| n_bytes).sum::<u64>();
                prop_assert_eq!(between(&nodes), order.bytes_before);
                prop_assert_eq!(between(&order.nodes), order.bytes_after);
                prop_assert!(order.bytes_after < order.bytes_before);
            }
        }
    }
}
