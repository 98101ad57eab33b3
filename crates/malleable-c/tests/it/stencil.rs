//! `apps/stencil`: the same cells on fixed and on changing ranks.

use crate::program::{library, repository, run};
use launch::Library;
use launch::library::Language;
use std::path::Path;
use std::process::Command;

const PLATE: [&str; 3] = ["40", "61", "6000"];

/// What a program says of its ranks and its cells.
#[track_caller]
fn cells(mpi: Library, n_ranks: usize, program: &Path, words: &[&str]) -> (String, String) {
    let control = program.with_extension("control").display().to_string();
    let variable = format!("--control {control}");
    let job = mpi.launch(n_ranks, program).args(PLATE).args(words.iter().copied());
    let ended = job.variable("SINTONIA_MALLEABLE", &variable).run();
    assert_eq!(ended.code, 0, "{mpi:?} {words:?}: {}", ended.text());
    let said = ended.stdout.lines().find_map(|line| line.split_once(" steps, "));
    let (ranks, cells) = said.and_then(|said| said.1.split_once("; ")).expect("a line");
    (ranks.to_owned(), cells.to_owned())
}

#[test]
fn cells_are_the_same_on_changing_ranks() {
    for mpi in Library::DYNAMIC {
        let built = tempfile::tempdir().expect("a folder");
        let mut make = Command::new("make");
        make.arg("--silent").arg("-C").arg(repository("apps/stencil")).args(["all", "malleable"]);
        make.arg(format!("MPICC={}", mpi.compiler(Language::C).display()));
        make.arg(format!("BUILD={}", built.path().display()));
        run(make.arg(format!("MALLEABLE={}", library().display())));
        let (_, fixed) = cells(mpi, 1, &built.path().join("stencil"), &[]);
        let words = ["--foreground", "--check-every", "1", "--schedule", "20:4,2000:1,4000:6"];
        let changing = cells(mpi, 2, &built.path().join("stencil_malleable"), &words);
        assert_eq!(changing, ("6 ranks".to_owned(), fixed), "{mpi:?}");
    }
}
