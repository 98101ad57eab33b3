//! The program on ranks of MPI libraries: the same bodies as on threads.

use launch::Library;
use launch::place::built;
use std::process::Command;

const RUN: [&str; 4] = ["--bodies", "60", "--steps", "20"];

/// Returns the hash of the bodies in the program's output.
#[track_caller]
fn bodies(said: &str) -> String {
    let found = said.lines().find_map(|line| line.split("; bodies ").nth(1));
    found.expect("the program names its bodies").to_owned()
}

#[track_caller]
fn check(library: Library) {
    let program = &built("nbody");
    let alone = Command::new(program).args(RUN).args(["--threads", "1"]).output().unwrap();
    let alone = bodies(&String::from_utf8_lossy(&alone.stdout));
    for n_ranks in [1, 2, 3, 5] {
        let ended = library.launch(n_ranks, program).args(RUN).run();
        assert_eq!(ended.code, 0, "{}", ended.text());
        assert_eq!(bodies(&ended.text()), alone, "{n_ranks} ranks");
    }
}

#[test]
fn bodies_are_the_same_under_open_mpi_4() {
    check(Library::OpenMpi4);
}

#[test]
fn bodies_are_the_same_under_open_mpi_5() {
    check(Library::OpenMpi5);
}

#[test]
fn bodies_are_the_same_under_mpich_4() {
    check(Library::Mpich4);
}

#[test]
fn bodies_are_the_same_under_mpich_5() {
    check(Library::Mpich5);
}
