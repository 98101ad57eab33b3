//! The program as users start it, alone and on ranks of MPI libraries.

use launch::Library;
use launch::place::built;
use std::path::Path;
use std::process::{Command, Output};

fn cg(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cg"));
    command.current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

#[track_caller]
fn check(line: &str, code: i32, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.mtx"), "no matrix\n").unwrap();
    std::fs::write(folder.path().join("b.txt"), "1\n2\n").unwrap();
    let done = cg(folder.path(), line);
    let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    assert_eq!(done.status.code(), Some(code), "{said}");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn exit_codes_are_those_of_the_help() {
    let cube = "--generate laplace3d:9";
    check("--help", 0, "Exit codes: ");
    check(cube, 0, "729 rows, 4617 non-zeros, 1 ranks; solved after ");
    check(&format!("{cube} --json"), 0, r#""n_rows":729,"n_non_zeros":4617,"n_ranks":1,"#);
    check(&format!("{cube} --iterations 2"), 3, "; not solved after 2 iterations in ");
    check(&format!("{cube} --iterations 2 --tolerance 0"), 0, "; not solved after 2 ");
    check(&format!("{cube} --fast"), 2, "cg: `--fast` is not an option; `--help` lists them");
    check(&format!("{cube} --right-hand-side b.txt"), 2, "cg: `b.txt` has 2 numbers; write ");
    check(&format!("{cube} -o no/x.mtx"), 2, "cg: `no/x.mtx` cannot be written; ");
    check("words.mtx", 2, "cg: line 1 of `words.mtx` is not understood; write `%%MatrixMarket ");
    check("none.mtx", 2, "cg: `none.mtx` cannot be read; ");
}

/// Returns the hash of the solution in the program's output.
#[track_caller]
pub(crate) fn solution(said: &str) -> String {
    let found = said.lines().find_map(|line| line.split("; solution ").nth(1));
    found.expect("the program names its solution").to_owned()
}

#[test]
fn files_lead_to_the_same_solution() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let done = cg(folder.path(), line);
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(done.status.success(), "{said}");
        said
    };
    let made = run("--generate tetrahedra:2x3x4 --seed 3 --reproducible -o x.mtx");
    run("generate tetrahedra:2x3x4 --seed 3 -o a.mtx");
    run("generate tetrahedra:2x3x4 --seed 3 -o a.mtx.gz");
    assert_eq!(solution(&run("a.mtx --reproducible")), solution(&made));
    assert_eq!(solution(&run("a.mtx.gz --reproducible -o y.mtx")), solution(&made));
    let read = |name| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("a.mtx.gz").len() < read("a.mtx").len());
    assert_eq!(read("x.mtx"), read("y.mtx"));
    assert!(run("a.mtx --right-hand-side x.mtx").contains("; solved after "));
}

/// Checks that three ranks reading a file together find the solution of one.
#[track_caller]
fn check_ranks(library: Library) {
    let folder = tempfile::tempdir().unwrap();
    cg(folder.path(), "generate tetrahedra:3x4x5 -o a.mtx.gz");
    let [file, control] = ["a.mtx.gz", "control"].map(|name| folder.path().join(name));
    let words = [file.to_str().unwrap(), "--reproducible", "--control", control.to_str().unwrap()];
    let alone = cg(folder.path(), "a.mtx.gz --reproducible");
    let alone = solution(&String::from_utf8_lossy(&alone.stdout));
    let program = &built("cg");
    for n_ranks in [1, 3] {
        let ended = library.launch(n_ranks, program).args(words).run();
        assert_eq!(ended.code, 0, "{}", ended.text());
        assert_eq!(solution(&ended.text()), alone, "{n_ranks} ranks");
        assert!(ended.text().contains(&format!(", {n_ranks} ranks; solved ")), "{}", ended.text());
    }
}

#[test]
pub(crate) fn solutions_are_the_same_under_open_mpi_4() {
    check_ranks(Library::OpenMpi4);
}

#[test]
pub(crate) fn solutions_are_the_same_under_open_mpi_5() {
    check_ranks(Library::OpenMpi5);
}

#[test]
pub(crate) fn solutions_are_the_same_under_mpich_4() {
    check_ranks(Library::Mpich4);
}

#[test]
pub(crate) fn solutions_are_the_same_under_mpich_5() {
    check_ranks(Library::Mpich5);
}
