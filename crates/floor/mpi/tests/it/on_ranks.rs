//! Tests on ranks that are processes.

use launch::{Library, example};
use mpi_abi::{MPICH_SETTINGS, OPEN_MPI_SETTINGS};

#[track_caller]
fn check(library: Library, n_ranks: usize, scenario: &str) {
    let ended = library.launch(n_ranks, &example("mpi_ranks")).arg(scenario).run();
    assert_eq!(ended.code, 0, "{library:?} x {n_ranks}: {}", ended.text());
    let expected = format!("{n_ranks} ranks did {scenario}\n");
    assert_eq!(ended.stdout, expected, "{library:?} x {n_ranks}: {}", ended.text());
}

#[test]
fn groups_communicate() {
    for library in Library::ALL {
        for n_ranks in [1, 4] {
            check(library, n_ranks, "everything");
        }
    }
}

#[test]
fn counts_that_mpi_does_not_know_go_as_datatypes() {
    for library in Library::ALL {
        check(library, 3, "narrow");
    }
}

/// Over UCX, MPICH's receives from any rank waited forever after processes were started, and on a single node no variable
/// was set.
#[test]
fn worlds_come_and_go() {
    for library in Library::DYNAMIC {
        let job = library.launch(2, &example("mpi_ranks")).arg("worlds");
        // Programs that start processes set the variables that the tests' launcher sets.
        let settings = OPEN_MPI_SETTINGS.iter().chain(&MPICH_SETTINGS);
        let ended = settings.fold(job, |job, (name, _)| job.without(name)).run();
        assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
        assert_eq!(ended.stdout, "2 ranks did worlds\n", "{library:?}: {}", ended.text());
    }
}
