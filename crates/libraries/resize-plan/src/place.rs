//! Placement of new processes on nodes.

/// Rule for choosing nodes for new processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Fills all nodes equally: each process goes where the smallest share of the cores is taken (the source's
    /// *best-fit*).
    #[default]
    Balance,
    /// Fills one node before the next (the source's *worst-fit*). When all are full, each gets one more in turns.
    Fill,
}

/// Node of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobNode {
    /// Number of cores that the job has there.
    pub n_cores: u32,
    /// Number of processes of the job that stay there.
    pub n_busy: u32,
}

/// Error in placing processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// No node has a core.
    #[error("no node has a core; give nodes to the job")]
    NoCores,
    /// The processes do not fit.
    #[error("{n_targets} processes do not fit on {n_cores} cores; take more nodes")]
    NoRoom {
        /// Number of processes.
        n_targets: u32,
        /// Number of cores on all nodes.
        n_cores: u64,
    },
}

/// Returns how many of `n_new` processes each node gets. There may be more processes than cores; they share cores.
///
/// # Errors
/// [`PlaceError::NoCores`].
pub fn place(policy: Placement, nodes: &[JobNode], n_new: u32) -> Result<Vec<u32>, PlaceError> {
    let mut placed = vec![0_u32; nodes.len()];
    for _ in 0..n_new {
        let node = next(policy, nodes, &placed).ok_or(PlaceError::NoCores)?;
        placed[node] += 1;
    }
    Ok(placed)
}

fn next(policy: Placement, nodes: &[JobNode], placed: &[u32]) -> Option<usize> {
    let taken = |node: usize| u64::from(nodes[node].n_busy) + u64::from(placed[node]);
    let cores = |node: usize| u64::from(nodes[node].n_cores);
    let with_cores = || (0..nodes.len()).filter(|node| 0 < cores(*node));
    let free = || with_cores().find(|node| taken(*node) < cores(*node));
    // Shares of the cores are compared as fractions; the first among equals is taken.
    let least_full = || {
        with_cores()
            .min_by(|a, b| ((taken(*a) + 1) * cores(*b)).cmp(&((taken(*b) + 1) * cores(*a))))
    };
    match policy {
        Placement::Balance => least_full(),
        Placement::Fill => free().or_else(least_full),
    }
}

/// Returns a node for each process, so that as many as possible of the bytes that the processes need are on their
/// nodes: `found` has for each process the bytes on each node; no node gets more processes than it has free cores.
///
/// Processes are assigned one by one, each by the cheapest chain of exchanges that makes room, so that the assignment
/// is optimal after each of them (successive shortest paths). Takes about `H^2 * N` steps for `H` processes on `N`
/// nodes.
///
/// # Errors
/// [`PlaceError::NoRoom`] if there are fewer free cores than processes.
pub fn place_where_found(found: &[Vec<u64>], nodes: &[JobNode]) -> Result<Vec<usize>, PlaceError> {
    let n_targets = u32::try_from(found.len()).unwrap_or(u32::MAX);
    let free = nodes.iter().map(|node| node.n_cores.saturating_sub(node.n_busy));
    let n_free = free.collect::<Vec<_>>();
    let n_cores = n_free.iter().copied().map(u64::from).sum::<u64>();
    if n_cores < n_targets.into() {
        return Err(PlaceError::NoRoom { n_targets, n_cores });
    }
    let bytes = |on: &Vec<u64>, node| on.get(node).copied().unwrap_or(0).into();
    let kept = found.iter().map(|on| (0..nodes.len()).map(|node| bytes(on, node)).collect());
    let mut assignment = Assignment { kept: kept.collect(), n_free, node_of: Vec::new() };
    for _ in 0..n_targets {
        assignment.add();
    }
    Ok(assignment.node_of)
}

struct Assignment {
    /// Bytes of each target on each node.
    kept: Vec<Vec<i128>>,
    n_free: Vec<u32>,
    node_of: Vec<usize>,
}

/// Smallest loss of moving a target from one node to another, and that target.
type Exchange = Option<(i128, usize)>;

impl Assignment {
    /// Assigns the next target.
    fn add(&mut self) {
        let target = self.node_of.len();
        let n_nodes = self.n_free.len();
        let exchanges = self.exchanges();
        // Smallest loss at which each node gets one more target, and the node that this one comes from.
        let mut loss = (0..n_nodes).map(|node| -self.kept[target][node]).collect::<Vec<_>>();
        let mut came_from = vec![None::<usize>; n_nodes];
        // Losses may be negative, but no cycle of them is: there are at most as many steps as nodes.
        for _ in 0..n_nodes {
            let mut is_settled = true;
            for from in 0..n_nodes {
                for to in 0..n_nodes {
                    let Some((lost, _)) = exchanges[from * n_nodes + to] else { continue };
                    if loss[from] + lost < loss[to] {
                        loss[to] = loss[from] + lost;
                        came_from[to] = Some(from);
                        is_settled = false;
                    }
                }
            }
            if is_settled {
                break;
            }
        }
        let mut n_taken = vec![0_u32; n_nodes];
        self.node_of.iter().for_each(|node| n_taken[*node] += 1);
        let has_room = |node: &usize| n_taken[*node] < self.n_free[*node];
        let end = (0..n_nodes).filter(has_room).min_by_key(|node| loss[*node]);
        let mut node = end.expect("there are as many cores as targets");
        while let Some(from) = came_from[node] {
            let (_, moved) = exchanges[from * n_nodes + node].expect("the way led over it");
            self.node_of[moved] = node;
            node = from;
        }
        self.node_of.push(node);
    }

    fn exchanges(&self) -> Vec<Exchange> {
        let n_nodes = self.n_free.len();
        let mut least = vec![None; n_nodes * n_nodes];
        for (target, from) in self.node_of.iter().enumerate() {
            for to in (0..n_nodes).filter(|to| to != from) {
                let lost = self.kept[target][*from] - self.kept[target][to];
                let place = &mut least[from * n_nodes + to];
                if place.is_none_or(|(known, _)| lost < known) {
                    *place = Some((lost, target));
                }
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Placement::{Balance, Fill};

    fn node(n_cores: u32, n_busy: u32) -> JobNode {
        JobNode { n_cores, n_busy }
    }

    #[track_caller]
    fn check(policy: Placement, nodes: &[JobNode], n_new: u32, expected: &[u32]) {
        assert_eq!(place(policy, nodes, n_new).unwrap(), expected);
    }

    #[test]
    fn processes_are_placed() {
        check(Balance, &[node(24, 0), node(24, 0)], 8, &[4, 4]);
        check(Balance, &[node(24, 4), node(24, 0)], 6, &[1, 5]);
        check(Balance, &[node(4, 0), node(8, 0)], 6, &[2, 4]);
        check(Balance, &[node(1, 1), node(1, 1)], 3, &[2, 1]);
        check(Fill, &[node(24, 0), node(24, 0)], 26, &[24, 2]);
        check(Fill, &[node(4, 3), node(4, 0)], 2, &[1, 1]);
        check(Fill, &[node(2, 2), node(2, 2)], 3, &[2, 1]);
        check(Fill, &[node(0, 0), node(2, 0)], 1, &[0, 1]);
        check(Balance, &[], 0, &[]);
    }

    #[test]
    fn processes_go_where_their_bytes_are() {
        let found = [vec![1, 9], vec![0, 8], vec![5, 6]];
        assert_eq!(place_where_found(&found, &[node(4, 2), node(2, 0)]), Ok(vec![1, 1, 0]));
        assert_eq!(place_where_found(&found, &[node(4, 2), node(4, 1)]), Ok(vec![1, 1, 1]));
        let full = Err(PlaceError::NoRoom { n_targets: 3, n_cores: 2 });
        assert_eq!(place_where_found(&found, &[node(4, 4), node(2, 0)]), full);
    }

    #[test]
    fn somewhere_there_has_to_be_a_core() {
        assert_eq!(place(Balance, &[], 1), Err(PlaceError::NoCores));
        assert_eq!(place(Fill, &[node(0, 0)], 1), Err(PlaceError::NoCores));
    }
}
