//! Nodes on which the ranks of a program run, now or later.

use crate::control::slurm_job;
use crate::options::Options;
use mpi::Nodes;
use std::thread::available_parallelism;

/// Variables with the number of ranks that a launcher has started on this node.
const LOCAL: [&str; 2] = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"];

/// Nodes of a program with these options.
pub(super) fn of(options: &Options) -> Nodes {
    let number = |names: [&str; 2]| {
        names.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok()).unwrap_or(1)
    };
    let is_alone = options.nodes.hostfile.is_none() && slurm_job().is_none();
    let (n_local, n_cores) = (number(LOCAL), available_parallelism().map_or(1, usize::from));
    let is_crowded = is_crowded(n_cores, n_local, is_alone.then_some(options));
    Nodes { is_crowded, is_fixed: options.is_fixed() }
}

/// Returns whether more ranks than cores may share this node: the present ones, or the possible ones where all run
/// here.
fn is_crowded(n_cores: usize, n_local: u32, of_one_node: Option<&Options>) -> bool {
    let n_most = of_one_node.map_or(n_local, |options| options.sizes_with(n_local).1);
    u32::try_from(n_cores).is_ok_and(|n_cores| n_cores < n_most.max(n_local))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a program that never grows was taken off the network that its library chose.
    #[test]
    fn a_program_that_may_grow_is_not_fixed() {
        assert!(of(&Options::new()).is_fixed);
        assert!(!of(&Options::new().sizes(1, 8)).is_fixed);
    }

    #[test]
    fn a_node_is_crowded_by_ranks_that_may_come() {
        let growing = Options::new().sizes(1, 8);
        assert!(is_crowded(2, 4, None));
        assert!(!is_crowded(4, 4, None));
        assert!(is_crowded(4, 1, Some(&growing)));
        assert!(!is_crowded(8, 1, Some(&growing)));
        assert!(!is_crowded(4, 1, Some(&Options::new())));
    }
}
