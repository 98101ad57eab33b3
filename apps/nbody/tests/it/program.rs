//! The program as users start it.

use std::path::Path;
use std::process::{Command, Output};

fn nbody(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nbody"));
    command.current_dir(folder).args(line.split_whitespace()).args(["--threads", "2"]);
    command.output().unwrap()
}

#[track_caller]
fn check(line: &str, code: i32, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.xyz"), "no bodies\n").unwrap();
    let done = nbody(folder.path(), line);
    let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    assert_eq!(done.status.code(), Some(code), "{said}");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn exit_codes_are_those_of_the_help() {
    let short = "--bodies 20 --steps 9";
    check("--help", 0, "Exit codes: ");
    check(short, 0, "20 bodies, 9 steps in ");
    check(&format!("{short} --max-drift 0.5"), 0, "energy -");
    check(&format!("{short} --max-drift 1e-13"), 3, "nbody: the relative energy drift is ");
    check(&format!("{short} --workers many"), 1, "`--workers many` is not understood");
    check(
        "--dimensions 4",
        2,
        "nbody: `--dimensions 4` is not understood; write `--dimensions 2|3`",
    );
    check("--start words.xyz", 2, "nbody: line 1 of `words.xyz` is not a number of bodies");
    check(
        "--start none.xyz",
        2,
        "nbody: `none.xyz` cannot be read; give `--start` disk, plummer, ",
    );
    check(
        "--load words.xyz",
        2,
        "nbody: line 1 of `words.xyz` is not understood; write an iteration",
    );
    check(&format!("{short} --picture no/a.svg"), 2, "nbody: `no/a.svg` cannot be written; ");
    check(&format!("{short} --output no/a.xyz"), 2, "nbody: `no/a.xyz` cannot be written; ");
}

#[test]
fn files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        "--bodies 30 --steps 12 --output a.xyz --picture a.png --animation b.png --timeline a.csv";
    assert!(nbody(folder.path(), line).status.success());
    let timeline = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert_eq!(timeline.lines().count(), 13);
    assert!(timeline.contains("\n11,1,"), "{timeline}");
    for name in ["a.xyz", "a.png", "b.png"] {
        assert!(0 < std::fs::metadata(folder.path().join(name)).unwrap().len());
    }
}
