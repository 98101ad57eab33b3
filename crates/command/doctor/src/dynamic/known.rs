//! Known defects of MPI libraries that start processes while they run, by version, and the settings that help.
//!
//! Measured on Debian 12 with Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2.

use super::super::mpi::Launcher;
use mpi_abi::{MPICH_SETTINGS, OPEN_MPI_SETTINGS, Setting};

/// Variables to set for programs that change their size; Open MPI runs as root only with two more.
pub(super) fn settings(launcher: &Launcher, is_root: bool) -> Vec<Setting> {
    let mut settings = Vec::new();
    if launcher.is_open_mpi {
        if 5 <= launcher.version.0 {
            settings.extend(OPEN_MPI_SETTINGS);
        } else {
            settings.push(("OMPI_MCA_mpi_yield_when_idle", "1"));
        }
        let as_root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
        settings.extend(as_root.map(|name| (name, "1")).into_iter().filter(|_| is_root));
    } else if (4, 3) <= launcher.version {
        settings.extend(MPICH_SETTINGS);
    }
    settings
}

/// Options of the launcher that go with the settings.
pub(super) fn options(launcher: &Launcher) -> &'static [&'static str] {
    if launcher.is_open_mpi { &["--oversubscribe", "--bind-to", "none"] } else { &[] }
}

/// Known defects of a library, as sentences.
pub(super) fn defects(launcher: &Launcher) -> &'static [&'static str] {
    match (launcher.is_open_mpi, launcher.version) {
        (true, (..=4, _)) => &[
            "MPI_Comm_spawn hangs now and then, because a child stays in PMIx_Init (openpmix issue 2735, closed unfixed)",
            "MPI_Comm_disconnect hangs on a merged communicator: free that one, and disconnect the intercommunicator",
            "no window on a merged communicator, unless OMPI_MCA_osc=pt2pt",
        ],
        (true, _) => &[
            "MPI_Init sleeps for a second unless OMPI_MCA_btl=self,sm,tcp",
            "collectives on merged communicators hang now and then unless OMPI_MCA_coll=^han",
            "MPI_Comm_disconnect hangs on a merged communicator: free that one, and disconnect the intercommunicator",
            "programs of two launchers do not connect",
            "under Slurm the launcher hears ranks of its own node only, unless PMIX_MCA_ptl_tcp_if_include names the network; start programs by sintonia malleable -- mpiexec, which sets it",
        ],
        (false, (..=3, _) | (4, ..=2)) => {
            &["processes cannot connect where MPICH is built on ch4:ucx, as Debian's is"]
        }
        (false, _) => &[
            "over UCX, a receive from MPI_ANY_SOURCE waits for ever once processes were started, and ports do not open, unless MPIR_CVAR_CH4_NETMOD=ofi",
            "over libfabric's tcp alone, connections of processes that come and go are dropped now and then unless FI_PROVIDER=tcp;ofi_rxm",
            "a program that was started with mpiexec -bind-to ends when it starts processes (\"duplicate setting: binding\")",
            "ranks that wait keep their core from others unless MPIR_CVAR_ENABLE_HEAVY_YIELD=1",
        ],
    }
}

/// Sentence about how a program changes its size with this library.
pub(super) fn way(launcher: &Launcher, is_spawning: bool) -> &'static str {
    let is_trusted =
        if launcher.is_open_mpi { 5 <= launcher.version.0 } else { (4, 3) <= launcher.version };
    match (is_trusted, is_spawning) {
        (true, true) => "malleable programs start and release processes",
        (true, false) => {
            "malleable programs use ranks that were started beforehand, until what fails here works"
        }
        (false, _) => {
            "malleable programs use ranks that were started beforehand (mpirun -n MAX); MPICH 5 and Open MPI 5 start and \
             release processes"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[track_caller]
    fn check(is_open_mpi: bool, version: (u32, u32), n_settings: usize, way_has: &str) {
        let launcher = Launcher { path: PathBuf::new(), is_open_mpi, version, text: String::new() };
        assert_eq!(settings(&launcher, true).len(), n_settings);
        assert!(!defects(&launcher).is_empty());
        let way = way(&launcher, true);
        assert!(way.contains(way_has), "{way}");
    }

    #[test]
    fn libraries_are_told_apart() {
        check(true, (4, 1), 3, "beforehand");
        check(true, (5, 0), 6, "start and release processes");
        check(false, (4, 0), 0, "beforehand");
        check(false, (4, 3), 3, "start and release processes");
        check(false, (5, 0), 3, "start and release processes");
    }
}
