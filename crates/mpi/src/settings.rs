//! Settings with which a library starts processes reliably: variables of the environment, which libraries read when they
//! begin.
//!
//! | library | setting | why |
//! |---|---|---|
//! | Open MPI 5 | `coll=^han` | operations over merged communicators hang otherwise |
//! | | `pml=ob1`, `btl=self,sm,tcp` | it hangs otherwise where there is Ethernet only, and sleeps a second at its start |
//! | | `mpi_yield_when_idle=1`, for crowded nodes | ranks that wait take the cores of those that compute |
//! | MPICH | `MPIR_CVAR_ENABLE_HEAVY_YIELD=1`, for crowded nodes | the same: an iteration of four ranks on two cores took 14 ms instead of 83 |
//!
//! # Invariants
//! - What somebody has set stays.

use std::path::Path;

/// A variable and its value.
pub type Setting = (&'static str, &'static str);

const OPEN_MPI: [Setting; 1] = [("OMPI_MCA_coll", "^han")];
const OPEN_MPI_ETHERNET: [Setting; 2] = [("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "self,sm,tcp")];
const OPEN_MPI_CROWDED: [Setting; 1] = [("OMPI_MCA_mpi_yield_when_idle", "1")];
const MPICH_CROWDED: [Setting; 1] = [("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")];
/// Where the system lists networks that Open MPI has better ways for.
const FAST: [&str; 3] = ["/sys/class/infiniband", "/sys/class/cxi", "/sys/class/hfi1"];

/// What a node is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) is_crowded: bool,
    pub(crate) has_fast_network: bool,
}

impl Node {
    pub(crate) fn here(is_crowded: bool) -> Self {
        let is_there = |folder: &&str| {
            Path::new(folder).read_dir().is_ok_and(|mut devices| devices.next().is_some())
        };
        Self { is_crowded, has_fast_network: FAST.iter().any(is_there) }
    }
}

/// What to set for the library that says this of itself, but what is set.
pub(crate) fn choose(version: &str, node: Node, is_set: impl Fn(&str) -> bool) -> Vec<Setting> {
    let mut settings = Vec::new();
    if version.contains("Open MPI v5") {
        settings.extend(OPEN_MPI);
        settings.extend(OPEN_MPI_ETHERNET.iter().filter(|_| !node.has_fast_network));
        settings.extend(OPEN_MPI_CROWDED.iter().filter(|_| node.is_crowded));
    } else if version.contains("MPICH") {
        settings.extend(MPICH_CROWDED.iter().filter(|_| node.is_crowded));
    }
    settings.retain(|(name, _)| !is_set(name));
    settings
}

/// Sets them, where no other thread may look at the environment at the same time; those that are set.
pub(crate) fn apply(settings: Vec<Setting>) -> Vec<Setting> {
    let n_threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if n_threads != 1 {
        return Vec::new();
    }
    for (name, value) in &settings {
        // SAFETY: this is the only thread of the process, as the system has just said.
        unsafe { std::env::set_var(name, value) };
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, (is_crowded, has_fast_network): (bool, bool), expected: &[&str]) {
        let is_set = |name: &str| name == "OMPI_MCA_btl";
        let settings = choose(version, Node { is_crowded, has_fast_network }, is_set);
        assert_eq!(settings.iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_nobody_has_set_is_chosen() {
        let (open_mpi, mpich) = ("Open MPI v5.0.11, package: x", "MPICH Version:      5.0.2");
        check(open_mpi, (false, false), &["OMPI_MCA_coll", "OMPI_MCA_pml"]);
        check(open_mpi, (true, true), &["OMPI_MCA_coll", "OMPI_MCA_mpi_yield_when_idle"]);
        check("Open MPI v4.1.4", (true, false), &[]);
        check(mpich, (true, false), &["MPIR_CVAR_ENABLE_HEAVY_YIELD"]);
        check(mpich, (false, false), &[]);
    }
}
