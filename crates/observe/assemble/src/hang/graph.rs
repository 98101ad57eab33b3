//! Directed graph of waiting: components that wait for nothing outside, cycles in them, and all that wait for them.

use std::collections::VecDeque;

/// Nodes from which a shortest cycle is looked for; a cycle is as short from most of them.
const N_STARTS_MAX: usize = 64;

/// Graph by its edges: `edges[node]` are the nodes for which `node` waits.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) edges: Vec<Vec<usize>>,
}

impl Graph {
    /// Returns the strongly connected components without an edge to another one, each sorted.
    pub(super) fn terminals(&self) -> Vec<Vec<usize>> {
        let component = self.components();
        let n_components = component.iter().max().map_or(0, |last| last + 1);
        let mut is_terminal = vec![true; n_components];
        let mut members = vec![Vec::new(); n_components];
        for (node, targets) in self.edges.iter().enumerate() {
            members[component[node]].push(node);
            if targets.iter().any(|target| component[*target] != component[node]) {
                is_terminal[component[node]] = false;
            }
        }
        let kept = members.into_iter().zip(is_terminal).filter(|(_, is_terminal)| *is_terminal);
        kept.map(|(members, _)| members).collect()
    }

    /// Returns for each node whether it waits, directly or not, for one of `targets`; these count as well.
    pub(super) fn reaching(&self, targets: &[usize]) -> Vec<bool> {
        let reversed = self.reversed();
        let mut is_reaching = vec![false; self.edges.len()];
        let mut open: Vec<usize> = targets.to_vec();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut is_reaching[node], true) {
                open.extend(&reversed[node]);
            }
        }
        is_reaching
    }

    /// Returns a shortest cycle among the members of a component; empty if there is none.
    pub(super) fn cycle(&self, members: &[usize]) -> Vec<usize> {
        let starts = members.iter().take(N_STARTS_MAX);
        let cycles = starts.filter_map(|start| self.cycle_from(*start));
        cycles.min_by_key(Vec::len).unwrap_or_default()
    }

    fn cycle_from(&self, start: usize) -> Option<Vec<usize>> {
        let mut before = vec![None; self.edges.len()];
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            for target in &self.edges[node] {
                if *target == start {
                    return Some(path(&before, start, node));
                }
                if before[*target].is_none() {
                    before[*target] = Some(node);
                    open.push_back(*target);
                }
            }
        }
        None
    }

    fn reversed(&self) -> Vec<Vec<usize>> {
        let mut reversed = vec![Vec::new(); self.edges.len()];
        for (node, targets) in self.edges.iter().enumerate() {
            targets.iter().for_each(|target| reversed[*target].push(node));
        }
        reversed
    }

    /// Returns the number of each node's component (Kosaraju's algorithm).
    fn components(&self) -> Vec<usize> {
        let reversed = self.reversed();
        let mut component = vec![usize::MAX; self.edges.len()];
        let mut n_components = 0;
        for node in self.in_order_of_end().into_iter().rev() {
            if component[node] != usize::MAX {
                continue;
            }
            let mut open = vec![node];
            while let Some(node) = open.pop() {
                if component[node] == usize::MAX {
                    component[node] = n_components;
                    open.extend(&reversed[node]);
                }
            }
            n_components += 1;
        }
        component
    }

    /// Returns the nodes in the order in which a depth-first search leaves them.
    fn in_order_of_end(&self) -> Vec<usize> {
        let mut is_seen = vec![false; self.edges.len()];
        let mut order = Vec::with_capacity(self.edges.len());
        for start in 0..self.edges.len() {
            if std::mem::replace(&mut is_seen[start], true) {
                continue;
            }
            let mut open = vec![(start, 0)];
            while let Some((node, next)) = open.pop() {
                let Some(target) = self.edges[node].get(next) else {
                    order.push(node);
                    continue;
                };
                open.push((node, next + 1));
                if !std::mem::replace(&mut is_seen[*target], true) {
                    open.push((*target, 0));
                }
            }
        }
        order
    }
}

/// Returns the nodes from `start` to `end` by the node before each.
fn path(before: &[Option<usize>], start: usize, end: usize) -> Vec<usize> {
    let mut path = vec![end];
    let mut node = end;
    while node != start
        && let Some(previous) = before[node]
    {
        path.push(previous);
        node = previous;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(edges: &[&[usize]], terminals: &[&[usize]], cycle: &[usize]) {
        let graph = Graph { edges: edges.iter().map(|targets| targets.to_vec()).collect() };
        let mut found = graph.terminals();
        found.sort();
        assert_eq!(found, terminals);
        assert_eq!(found.first().map(|first| graph.cycle(first)).unwrap_or_default(), cycle);
    }

    #[test]
    fn terminals_wait_for_nobody_outside() {
        check(&[], &[], &[]);
        check(&[&[]], &[&[0]], &[]);
        check(&[&[0]], &[&[0]], &[0]);
        check(&[&[1], &[0], &[0]], &[&[0, 1]], &[0, 1]);
        check(&[&[1], &[2], &[]], &[&[2]], &[]);
        check(&[&[1], &[2], &[3, 1], &[0]], &[&[0, 1, 2, 3]], &[1, 2]);
        check(&[&[1], &[], &[3], &[]], &[&[1], &[3]], &[]);
    }

    #[test]
    fn all_that_wait_for_a_node_are_found() {
        let graph = Graph { edges: vec![vec![1], vec![2], vec![], vec![], vec![3, 0]] };
        assert_eq!(graph.reaching(&[2]), [true, true, true, false, true]);
    }
}
