//! Chooses the pairs of ranks that measure.

use std::collections::BTreeMap;

/// Pairs of rank 0 with each other rank, as a master talks to its workers; then, on every node without rank 0, its
/// first two ranks, so that messages inside a node are known wherever two ranks share one.
pub(super) fn to_measure(nodes: &[String]) -> Vec<(u32, u32)> {
    let mut on_node: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (rank, node) in (0..).zip(nodes) {
        on_node.entry(node).or_default().push(rank);
    }
    let n_ranks = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let mut inside: Vec<(u32, u32)> = on_node
        .values()
        .filter_map(|ranks| Some((*ranks.first()?, *ranks.get(1)?)))
        .filter(|(first, _)| *first != 0)
        .collect();
    inside.sort_unstable();
    (1..n_ranks).map(|to| (0, to)).chain(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `nodes` has a letter for each rank: the name of its node.
    #[track_caller]
    fn check(nodes: &str, expected: &[(u32, u32)]) {
        let nodes: Vec<String> = nodes.chars().map(String::from).collect();
        assert_eq!(to_measure(&nodes), expected);
    }

    #[test]
    fn every_node_with_two_ranks_is_measured_inside() {
        check("a", &[]);
        check("aaa", &[(0, 1), (0, 2)]);
        check("ab", &[(0, 1)]);
        check("aabb", &[(0, 1), (0, 2), (0, 3), (2, 3)]);
        check("abb", &[(0, 1), (0, 2), (1, 2)]);
        check("zbzbbc", &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 3)]);
        check("acbbcc", &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 4), (2, 3)]);
    }
}
