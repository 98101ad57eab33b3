//! Environment variables that are set for a library, of those that `mpi_abi` lists with their reasons.
//!
//! # Invariants
//! - A variable that is already set stays; an empty one counts as unset.

use crate::support::{STARTING_PROCESSES, netmods, number_after};
use mpi_abi::{MPICH_SETTINGS, OPEN_MPI_SETTINGS, Setting};
use std::ffi::OsStr;
use std::path::Path;

/// Variable that selects MPICH's network module.
pub(crate) const NETMOD: &str = MPICH_SETTINGS[0].0;
/// System folders of fast networks, for which Open MPI has better transports.
const FAST: [&str; 3] = ["/sys/class/infiniband", "/sys/class/cxi", "/sys/class/hfi1"];

/// Properties of the nodes that a program may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// True if a node may have more ranks than cores.
    pub is_crowded: bool,
    /// True if no process is started later: the library then keeps its default transport.
    pub is_fixed: bool,
}

/// Returns whether this node has a fast network, which needs no settings.
pub(crate) fn has_fast_network() -> bool {
    let is_there = |folder: &&str| {
        Path::new(folder).read_dir().is_ok_and(|mut devices| devices.next().is_some())
    };
    FAST.iter().any(is_there)
}

/// Returns the settings for the library with this version text, without variables that are already set.
pub(crate) fn choose(
    version: &str,
    nodes: Nodes,
    has_fast_network: bool,
    is_set: impl Fn(&str) -> bool,
) -> Vec<Setting> {
    let mut settings = Vec::new();
    if version.contains("Open MPI v5") {
        let [growing, ethernet, ethernet_too, crowded] = OPEN_MPI_SETTINGS;
        settings.extend([growing].iter().filter(|_| !nodes.is_fixed));
        settings.extend([ethernet, ethernet_too].iter().filter(|_| !has_fast_network));
        settings.extend([crowded].iter().filter(|_| nodes.is_crowded));
    } else if let Some(number) = number_after(version, "MPICH Version:") {
        let [growing, ethernet, crowded] = MPICH_SETTINGS;
        settings.extend([crowded].iter().filter(|_| nodes.is_crowded));
        let may_grow = !nodes.is_fixed && STARTING_PROCESSES <= number;
        let is_growing = may_grow && netmods(version).contains(&"ofi");
        settings.extend([growing].iter().filter(|_| is_growing));
        settings.extend([ethernet].iter().filter(|_| is_growing && !has_fast_network));
    }
    settings.retain(|(name, _)| !is_set(name));
    settings
}

/// Returns whether a variable has an effect; to the libraries an empty one is unset.
pub(crate) fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty())
}

/// Sets the variables, unless another thread may read the environment at the same time; returns those that were set.
pub(crate) fn apply(settings: Vec<Setting>) -> Vec<Setting> {
    let n_threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if n_threads != 1 {
        return Vec::new();
    }
    for (name, value) in &settings {
        // SAFETY: this is the only thread of the process, as was just checked.
        unsafe { std::env::set_var(name, value) };
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, nodes: Nodes, has_fast_network: bool, expected: &[&str]) {
        let is_set = |name: &str| name == "OMPI_MCA_btl";
        let settings = choose(version, nodes, has_fast_network, is_set);
        assert_eq!(settings.iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
    }

    /// An empty `MPIR_CVAR_CH4_NETMOD` counted as a reliable module, while MPICH used its default.
    #[test]
    fn an_empty_variable_sets_nothing() {
        assert!(is_set(Some(OsStr::new("ofi"))));
        assert!(!is_set(Some(OsStr::new(""))) && !is_set(None));
        let mpich = "MPICH Version: 5.0.2\nMPICH Device: ch4:ucx ofi\n";
        assert!(!crate::support::of_library(mpich, Some("")).is_trusted);
    }

    #[test]
    fn what_nobody_has_set_is_chosen() {
        let open_mpi = "Open MPI v5.0.11, package: x";
        let mpich = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\n";
        let crowded = Nodes { is_crowded: true, is_fixed: false };
        check(open_mpi, Nodes::default(), false, &["OMPI_MCA_coll", "OMPI_MCA_pml"]);
        check(open_mpi, crowded, true, &["OMPI_MCA_coll", "OMPI_MCA_mpi_yield_when_idle"]);
        check("Open MPI v4.1.4", crowded, false, &[]);
        let over_ofi = ["MPIR_CVAR_CH4_NETMOD", "FI_PROVIDER"];
        check(mpich, crowded, false, &[&["MPIR_CVAR_ENABLE_HEAVY_YIELD"], &over_ofi[..]].concat());
        check(mpich, Nodes::default(), false, &over_ofi);
        check(mpich, Nodes::default(), true, &over_ofi[..1]);
        // A program that starts no processes was forced off its fast network.
        let fixed = Nodes { is_crowded: false, is_fixed: true };
        check(mpich, fixed, true, &[]);
        check(mpich, fixed, false, &[]);
        check(open_mpi, fixed, true, &[]);
        check(open_mpi, fixed, false, &["OMPI_MCA_pml"]);
        let only_ucx = "MPICH Version: 5.0.2\nMPICH Device: ch4:ucx\n";
        check(only_ucx, Nodes::default(), false, &[]);
        let old = "MPICH Version: 4.0.2\nMPICH Device: ch4:ofi\n";
        check(old, Nodes::default(), false, &[]);
    }
}
