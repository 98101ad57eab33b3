//! Runs whose number of ranks changes: the same solution, bit for bit, and how little code it takes.

use crate::program::solution;
use launch::Library;
use launch::place::built;
use std::path::Path;
use std::process::Command;

const RUN: [&str; 7] =
    ["--generate", "tetrahedra:3x4x5", "--reproducible", "--tolerance", "0", "--iterations", "60"];

/// The program waits for new processes, and its rows take time, or it would be done before they come and go.
const RESIZES: [&str; 7] = [
    "--foreground",
    "--check-every",
    "1",
    "--schedule",
    "10:4,20:1,30:3,45:2",
    "--wait-us-per-row",
    "10",
];

#[track_caller]
fn check(library: Library) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let program = &built("cg");
    let alone = Command::new(program).args(RUN).output().unwrap();
    let alone = solution(&String::from_utf8_lossy(&alone.stdout));
    let files = ["--record".to_owned(), path("record"), "--control".to_owned(), path("control")];
    let job = library.launch(2, program).args(RUN).args(RESIZES);
    let ended = job.args(files.iter().map(String::as_str)).run();
    assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
    assert_eq!(solution(&ended.text()), alone, "{library:?}");
    assert!(ended.text().contains(" 2 ranks; not solved after 60 iterations "), "{}", ended.text());
    let resizes = std::fs::read_to_string(folder.path().join("record/resizes.jsonl")).unwrap();
    for change in [(2, 4), (4, 1), (1, 3), (3, 2)] {
        let change = format!("\"from\":{},\"to\":{},", change.0, change.1);
        let is_done = |line: &str| line.contains(&change) && line.contains("\"outcome\":\"done\"");
        assert!(resizes.lines().any(is_done), "{library:?} {change}: {resizes}");
    }
}

#[test]
fn solutions_are_the_same_when_ranks_come_and_go_in_open_mpi() {
    check(Library::OpenMpi5);
}

#[test]
fn solutions_are_the_same_when_ranks_come_and_go_in_mpich() {
    check(Library::Mpich5);
}

/// A matrix whose parts change size with the number of ranks, and whose rows take long enough for a kill meanwhile.
#[test]
fn a_killed_solver_goes_on_with_another_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cg.checkpoint");
    let program = &built("cg");
    let alone = Command::new(program).args(RUN).output().unwrap();
    let alone = solution(&String::from_utf8_lossy(&alone.stdout));
    let words = ["--checkpoint-every", "0.001s", "--check-every", "1", "--checkpoint"];
    let job = |n_ranks| {
        let job = Library::Mpich5.launch(n_ranks, program).args(RUN).args(words).arg(&file);
        job.args(["--wait-us-per-row", "40"]).arg("--control").arg(folder.path().join("control"))
    };
    let running = job(3).start();
    running.wait_until("a checkpoint", |_| file.exists());
    let is_rank = |words: &[String]| words.first().is_some_and(|word| word.ends_with("/cg"));
    running.processes(is_rank).into_iter().for_each(|pid| running.kill(pid));
    assert_ne!(running.finish().code, 0);
    let ended = job(2).run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    assert_eq!(solution(&ended.text()), alone);
    assert!(!file.exists(), "the solver is done");
}

/// Lines of code of a file, without those that only close brackets.
fn code(path: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| {
        !line.starts_with("//") && line.chars().any(|letter| letter.is_alphanumeric())
    });
    lines.map(str::to_owned).collect()
}

/// Counts lines of the malleable program that the plain one lacks; the registration is new as a whole, except for what
/// makes it a file.
#[test]
fn a_plain_program_changes_in_15_lines() {
    let plain = code("examples/plain.rs");
    let changed: Vec<String> =
        code("src/main.rs").into_iter().filter(|line| !plain.contains(line)).collect();
    let registered: Vec<String> =
        code("src/state.rs").into_iter().filter(|line| !line.starts_with("use ")).collect();
    assert!((5..=10).contains(&changed.len()), "{changed:#?}");
    assert!(changed.len() + registered.len() <= 15, "{changed:#?} {registered:#?}");
}
