//! Call paths of a process with their samples: a tree of addresses.

use std::collections::HashMap;
use wire::samples::{CUT, PathNode};

/// Maximum number of nodes; a path without room is counted at its longest known beginning.
const N_NODES_MAX: usize = 32 << 10;

/// Tree of call paths. Node 0 is its root, and stands for the thread's start.
#[derive(Debug)]
pub(crate) struct Paths {
    nodes: Vec<PathNode>,
    children: HashMap<(u32, u64), u32>,
    pub(crate) n_samples: u64,
    /// Number of samples whose path begins at an unknown place, because the saved stack ended or tables were missing.
    pub(crate) n_cut: u64,
}

impl Default for Paths {
    fn default() -> Self {
        let nodes = vec![PathNode::default()];
        Self { nodes, children: HashMap::new(), n_samples: 0, n_cut: 0 }
    }
}

impl Paths {
    /// Counts a sample that stands for `n` periods; `path` is ordered from the interrupted function to the outermost one.
    pub(crate) fn add(&mut self, path: &[u64], is_cut: bool, n: u64) {
        self.n_samples += n;
        self.n_cut += if is_cut { n } else { 0 };
        let outermost = is_cut.then_some(&CUT);
        let mut at = 0;
        for address in outermost.into_iter().chain(path.iter().rev()) {
            let Some(child) = self.child(at, *address) else { break };
            at = child;
        }
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.samples += n;
        }
    }

    fn child(&mut self, parent: u32, address: u64) -> Option<u32> {
        let next = u32::try_from(self.nodes.len()).ok()?;
        if let Some(child) = self.children.get(&(parent, address)) {
            return Some(*child);
        }
        if N_NODES_MAX <= self.nodes.len() {
            return None;
        }
        self.nodes.push(PathNode { parent, address, samples: 0 });
        self.children.insert((parent, address), next);
        Some(next)
    }

    /// Returns all nodes; a node stands after its parent.
    pub(crate) fn nodes(&self) -> &[PathNode] {
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(added: &[(&[u64], bool)], expected: &[(u32, u64, u64)]) {
        let mut paths = Paths::default();
        added.iter().for_each(|(path, is_cut)| paths.add(path, *is_cut, 1));
        let nodes = paths.nodes().iter().map(|node| (node.parent, node.address, node.samples));
        assert_eq!(nodes.collect::<Vec<_>>(), expected);
        assert_eq!(paths.n_samples, added.len() as u64);
    }

    #[test]
    fn paths_with_a_common_beginning_share_it() {
        check(&[], &[(0, 0, 0)]);
        check(&[(&[30, 20, 10], false)], &[(0, 0, 0), (0, 10, 0), (1, 20, 0), (2, 30, 1)]);
        check(
            &[(&[20, 10], false), (&[30, 10], false), (&[10], false)],
            &[(0, 0, 0), (0, 10, 1), (1, 20, 1), (1, 30, 1)],
        );
        check(&[(&[30], true)], &[(0, 0, 0), (0, CUT, 0), (1, 30, 1)]);
    }

    #[test]
    fn a_path_without_room_is_counted_at_its_beginning() {
        let mut paths = Paths::default();
        (0..N_NODES_MAX as u64 + 7).for_each(|address| paths.add(&[address + 100, 50], false, 1));
        assert_eq!(paths.nodes().len(), N_NODES_MAX);
        assert_eq!(paths.nodes()[1].samples, 9);
    }
}
