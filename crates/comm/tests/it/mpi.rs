//! Ranks as processes of the installed MPI libraries.

use crate::launch::{self, Library, libraries};
use std::process::Command;

#[track_caller]
fn check(library: &Library, n_ranks: u32, scenario: &str, expected: &str) {
    let ended = library.run(n_ranks, "comm_ranks", &[scenario]);
    let lines: Vec<&str> = ended.text.lines().filter(|line| *line == expected).collect();
    assert!(ended.is_success, "{} x {n_ranks}: {}", library.name, ended.text);
    assert_eq!(lines.len(), 1, "{} x {n_ranks}: {}", library.name, ended.text);
}

#[test]
fn ranks_communicate() {
    for library in libraries() {
        for n_ranks in [1, 2, 3, 5] {
            check(&library, n_ranks, "all", &format!("{n_ranks} ranks did everything"));
        }
    }
}

#[test]
fn the_network_is_measured() {
    for library in libraries() {
        check(&library, 2, "netbench", "lengths up to 4 MiB were timed");
    }
}

#[test]
fn ranks_that_leave_end_in_good_order() {
    for library in libraries() {
        check(&library, 3, "leave", "3 ranks left");
    }
}

#[test]
fn a_panic_ends_the_whole_job() {
    for library in libraries() {
        let ended = library.run(3, "comm_ranks", &["panic"]);
        assert!(!ended.is_success, "{}: {}", library.name, ended.text);
        assert!(ended.text.contains("as intended"), "{}: {}", library.name, ended.text);
    }
}

#[test]
fn ranks_are_added_and_leave_where_the_library_can() {
    for library in libraries().iter().filter(|library| library.can_spawn) {
        for n_ranks in [1, 2] {
            check(library, n_ranks, "elastic", "all came and went");
        }
    }
}

/// Libraries give the same handle again to another communicator.
#[test]
fn ranks_come_and_go_for_long() {
    for library in libraries().iter().filter(|library| library.can_spawn) {
        check(library, 1, "many", "20 came and went");
    }
}

#[test]
fn an_added_rank_that_is_killed_is_gone() {
    let Some(library) = launch::surviving() else { return };
    // The launcher reports the death too, by its exit code.
    let ended = library.run(1, "comm_ranks", &["lost"]);
    let gone = "Err(Gone { rank: 1 }) Err(Gone { rank: 1 })";
    assert!(ended.text.lines().any(|line| line == gone), "{}", ended.text);
}

#[test]
fn added_ranks_that_stay_to_the_end_are_let_go() {
    for library in libraries().iter().filter(|library| library.can_spawn) {
        check(library, 1, "stay", "the end with 2 added ranks");
    }
}

#[test]
fn a_library_that_hangs_is_not_asked_for_more_ranks() {
    for library in libraries().iter().filter(|library| !library.can_spawn) {
        let ended = library.run(1, "comm_ranks", &["elastic"]);
        assert!(!ended.is_success, "{}: {}", library.name, ended.text);
        assert!(ended.text.contains("no rank can be added"), "{}", ended.text);
        assert!(ended.text.contains("start all ranks at once"), "{}", ended.text);
    }
}

#[test]
fn a_program_without_a_launcher_is_told() {
    let mut command = Command::new(launch::example("comm_ranks"));
    command.arg("all");
    for variable in ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD"] {
        command.env_remove(variable);
    }
    let ended = launch::run(command);
    assert!(!ended.is_success);
    assert!(ended.text.contains("was not started by an MPI launcher"), "{}", ended.text);
}

#[test]
fn a_missing_library_is_told() {
    let mut command = Command::new(launch::example("comm_ranks"));
    command.arg("all").env("SINTONIA_MPI_LIBRARY", "/nowhere/libmpi.so");
    let ended = launch::run(command);
    assert!(!ended.is_success);
    assert!(
        ended.text.contains("cannot open the MPI library `/nowhere/libmpi.so`"),
        "{}",
        ended.text
    );
}
