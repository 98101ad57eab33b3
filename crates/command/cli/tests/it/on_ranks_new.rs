//! Tests of projects made by `sintonia new`: they build, their tests pass, and ranks give the same results as threads.

use crate::sintonia::Sandbox;
use launch::{Job, Library};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time to build a project and all that the library consists of.
const BUILD: Duration = Duration::from_secs(500);

#[track_caller]
fn make(sandbox: &Sandbox, name: &str, lang: &str) -> PathBuf {
    let said = sandbox.said(&format!("new {name} --lang {lang}")).silent();
    assert!(said.contains(&format!("made `{name}`; try it: cd {name} &&")), "{said}");
    sandbox.path(name)
}

/// Runs a command that has to succeed without a warning; returns its output.
#[track_caller]
fn run(job: Job) -> String {
    let ended = job.run();
    assert!(ended.code == 0 && !ended.stderr.contains("warning"), "{}", ended.text());
    ended.stdout
}

/// Checks that threads, ranks, and a run that goes on from its last checkpoint give the same results.
#[track_caller]
fn check_runs(program: &Path, dir: &Path) {
    let alone = run(Job::new(program).args(["--threads", "1"]).folder(dir));
    assert!(alone.contains("area 0.50406649"), "{alone}");
    let file = dir.join("state");
    let checkpoint = ["--checkpoint".as_ref(), file.as_os_str()];
    for library in Library::SYSTEM {
        let job = library.launch(3, program).folder(dir);
        let ended = job.args(["--workers", "auto", "--progress"]).args(checkpoint).run();
        assert_eq!((ended.code, &ended.stdout), (0, &alone), "{library:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("5 iterations in "), "{}", ended.stderr);
    }
    let resumed = run(Job::new(program).args(["--resume"]).args(checkpoint).folder(dir));
    assert_eq!(resumed, alone);
    check_arguments(program, dir);
}

/// A misspelled option was accepted silently, and the program ran with another policy than its user thought.
#[track_caller]
fn check_arguments(program: &Path, dir: &Path) {
    let refused = Job::new(program).args(["--threads", "1", "--polcy", "gss"]).folder(dir).run();
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("`--polcy` is no option"), "{}", refused.stderr);
    let help = run(Job::new(program).args(["--help"]).folder(dir));
    assert!(help.contains("--policy"), "{help}");
}

#[test]
fn a_project_in_c_builds_and_runs_as_it_is() {
    let sandbox = Sandbox::new();
    let dir = make(&sandbox, "my-program", "c");
    let strict = "CFLAGS=-O1 -Werror -pedantic";
    let make = Job::new("make").args(["--no-print-directory", "check", strict]);
    let said = run(make.folder(&dir).within(BUILD));
    assert!(said.trim_end().ends_with("passed"), "{said}");
    check_runs(&dir.join("my-program"), &dir);
}

/// Builds the project where the library was built, so that little is compiled again, and runs it as users do.
#[test]
fn a_project_in_rust_builds_and_runs_as_it_is() {
    let sandbox = Sandbox::new();
    let dir = make(&sandbox, "my-program", "rust");
    let target = launch::place::target();
    let cargo = |words: &[&str]| {
        let job = Job::new(env!("CARGO")).args(words).arg("--offline").folder(&dir).within(BUILD);
        job.variable("CARGO_TARGET_DIR", &target)
    };
    let said = run(cargo(&["test", "--release"]));
    assert!(said.contains("2 passed"), "{said}");
    run(cargo(&["build", "--release"]));
    let program = sandbox.path("program");
    std::fs::copy(target.join("release/my-program"), &program).expect("it was built");
    check_runs(&program, &dir);
}
