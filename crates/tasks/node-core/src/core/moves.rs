//! Tasks that other nodes took from this one, by node.

use crate::interface::NodeId;
use std::collections::BTreeMap;

/// Most nodes that are told apart.
const N_NODES_MAX: usize = 64;
/// Name under which all further nodes are counted.
const OTHERS: &str = "others";

/// Number of tasks by the node that took them.
#[derive(Debug, Default)]
pub(super) struct MovesByNode {
    to: BTreeMap<NodeId, u64>,
    n_others: u64,
}

impl MovesByNode {
    /// Counts tasks that a node took.
    pub(super) fn add(&mut self, to: NodeId, n_tasks: u64) {
        if n_tasks == 0 {
            return;
        }
        if self.to.len() < N_NODES_MAX || self.to.contains_key(&to) {
            *self.to.entry(to).or_default() += n_tasks;
        } else {
            self.n_others += n_tasks;
        }
    }

    /// Numbers by the names of the nodes.
    pub(super) fn by_name(&self, name: impl Fn(NodeId) -> String) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        let others = (0 < self.n_others).then(|| (OTHERS.to_owned(), self.n_others));
        let named = self.to.iter().map(|(node, n)| (name(*node), *n));
        for (name, n) in named.chain(others) {
            *all.entry(name).or_default() += n;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_nodes_are_counted_together() {
        let mut moves = MovesByNode::default();
        (0..100).for_each(|node| moves.add(NodeId(node), 2));
        moves.add(NodeId(0), 1);
        moves.add(NodeId(1), 0);
        let named = moves.by_name(|node| format!("n{}", node.0));
        assert_eq!(named.len(), N_NODES_MAX + 1);
        assert_eq!((named["n0"], named["n1"], named["others"]), (3, 2, 72));
    }
}
