//! Tests of `apps/stencil`: the same cells on fixed and on changing ranks.

use super::program::library;
use c_header::{repository, run};
use launch::library::Language;
use launch::{Job, Library};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Builds both programs for this library.
fn built(mpi: Library) -> TempDir {
    let built = tempfile::tempdir().expect("a folder");
    let mut make = Command::new("make");
    make.arg("--silent").arg("-C").arg(repository("apps/stencil")).args(["all", "malleable"]);
    make.arg(format!("MPICC={}", mpi.compiler(Language::C).display()));
    make.arg(format!("BUILD={}", built.path().display()));
    run(make.arg(format!("MALLEABLE={}", library().display())));
    built
}

/// Job that computes a plate for `n_steps` steps.
fn job(mpi: Library, n_ranks: usize, program: &Path, n_steps: u32, words: &[&str]) -> Job {
    let control = program.with_extension("control").display().to_string();
    let job = mpi.launch(n_ranks, program).args(["40", "61"]).arg(n_steps.to_string());
    job.args(words.iter().copied()).variable("SINTONIA_MALLEABLE", format!("--control {control}"))
}

/// Runs a job; returns its output on ranks and on cells.
#[track_caller]
fn cells(job: Job) -> (String, String) {
    let ended = job.run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    let said = ended.stdout.lines().find_map(|line| line.split_once(" steps, "));
    let (ranks, cells) = said.and_then(|said| said.1.split_once("; ")).expect("a line");
    (ranks.to_owned(), cells.to_owned())
}

#[test]
fn cells_are_the_same_on_changing_ranks() {
    for mpi in Library::DYNAMIC {
        let built = built(mpi);
        let (_, fixed) = cells(job(mpi, 1, &built.path().join("stencil"), 6000, &[]));
        let words = ["--foreground", "--check-every", "1", "--schedule", "20:4,2000:1,4000:6"];
        let program = built.path().join("stencil_malleable");
        let changing = cells(job(mpi, 2, &program, 6000, &words));
        assert_eq!(changing, ("6 ranks".to_owned(), fixed), "{mpi:?}");
    }
}

#[test]
fn a_killed_program_goes_on_with_other_blocks() {
    let mpi = Library::Mpich5;
    let built = built(mpi);
    let (_, fixed) = cells(job(mpi, 1, &built.path().join("stencil"), 30_000, &[]));
    let program = built.path().join("stencil_malleable");
    let file = built.path().join("checkpoint");
    let words = ["--check-every", "1", "--checkpoint-every", "0.001s", "--checkpoint"];
    let words = words.into_iter().chain(file.to_str()).collect::<Vec<_>>();
    let running = job(mpi, 4, &program, 30_000, &words).start();
    running.wait_until("a checkpoint", |_| file.exists());
    let is_rank = |words: &[String]| words.first().is_some_and(|word| word.ends_with("malleable"));
    running.processes(is_rank).into_iter().for_each(|pid| running.kill(pid));
    assert_ne!(running.finish().code, 0);
    let resumed = cells(job(mpi, 2, &program, 30_000, &words));
    assert_eq!(resumed, ("2 ranks".to_owned(), fixed));
}
