//! Ranks as processes.

use launch::{Library, example};

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

#[test]
fn worlds_come_and_go() {
    for library in Library::DYNAMIC {
        check(library, 2, "worlds");
    }
}
