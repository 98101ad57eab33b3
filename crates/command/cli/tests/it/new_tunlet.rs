//! Tests of projects made by `sintonia new-tunlet`: they build, their tests pass, and runs can host them.

use crate::sintonia::Sandbox;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command that has to succeed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}

fn cargo(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(words).arg("--offline").current_dir(dir);
    command.env("CARGO_TARGET_DIR", dir.join("target")).env("RUSTFLAGS", "-D warnings");
    command
}

#[track_caller]
fn make(sandbox: &Sandbox, name: &str, lang: &str) -> PathBuf {
    sandbox.said(&format!("new-tunlet {name} --lang {lang}")).silent();
    sandbox.path(name)
}

/// Checks that the library is a tunlet of this name that works in a process of `sintonia`.
#[track_caller]
fn check_hosted(library: &Path, name: &str) {
    use tunlet_abi::{ForeignTunlet, ForeignTunletError};
    use tunlets::Tunlet;
    let opened: Result<ForeignTunlet, ForeignTunletError> =
        ForeignTunlet::open(library, &launch::place::built("sintonia"));
    let spec = opened.expect("a tunlet").spec();
    assert_eq!((spec.name.as_str(), spec.needs_events), (name, vec!["step_end".to_owned()]));
}

#[test]
fn a_project_in_c_builds_and_its_test_runs() {
    let sandbox = Sandbox::new();
    let dir = make(&sandbox, "my-tunlet", "c");
    let strict = "CFLAGS=-O1 -Werror -pedantic";
    let said = run(Command::new("make").arg("-C").arg(&dir).args([strict, "test", "my-tunlet.so"]));
    assert!(said.contains("passed"), "{said}");
    check_hosted(&dir.join("my-tunlet.so"), "my-tunlet");
}

#[test]
fn a_project_in_rust_builds_and_its_test_runs() {
    let sandbox = Sandbox::new();
    let dir = make(&sandbox, "my-tunlet", "rust");
    let said = run(&mut cargo(&dir, &["test"]));
    assert!(said.contains("1 passed"), "{said}");
    run(&mut cargo(&dir, &["build", "--release"]));
    check_hosted(&dir.join("target/release/libmy_tunlet.so"), "my-tunlet");
}

#[test]
fn what_cannot_be_made_is_said() {
    let sandbox = Sandbox::new();
    let check = |name: &str, options: &[&str], code: i32, expected: &str| {
        let said = sandbox.sintonia(&[&["new-tunlet", name, "--lang"], options].concat());
        said.check_errors(code, expected);
        assert_eq!(said.output, "");
    };
    check("a b", &["c"], 100, "cannot be the name of a tunlet");
    check("while", &["c"], 100, "is a word of the language");
    check("mine", &["c", "--dir", "tmp"], 100, "`tmp` is there already");
    check("mine", &["ada"], 2, "ada");
}

/// Blocks of the walk-through in this language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let text = include_str!("../../../../../docs/tunlets-in-libraries.md");
    let parts = text.split(&format!("```{language}\n")).skip(1).collect::<Vec<_>>();
    parts.into_iter().filter_map(|block| block.split("```").next())
}

#[test]
fn the_commands_of_the_walk_through_work() {
    let sandbox = Sandbox::new();
    let tried = blocks("sh").filter(|block| !block.contains("mpirun")).collect::<Vec<_>>();
    assert!(2 <= tried.len(), "{tried:?}");
    let bin = launch::place::programs();
    let path = std::env::var("PATH").expect("a path");
    for block in tried {
        let mut shell = Command::new("sh");
        shell.args(["-euc", block]).current_dir(sandbox.path("."));
        shell.env("PATH", format!("{}:{path}", bin.display()));
        run(shell.env("CARGO_NET_OFFLINE", "true").env_remove("CARGO_TARGET_DIR"));
    }
}

#[test]
fn the_walk_through_shows_the_template() {
    let source = include_str!("../../../../../examples/tunlets/damping-c/damping.c");
    let blocks: Vec<&str> = blocks("c").collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        assert!(source.contains(block.trim_end()), "not in damping.c:\n{block}");
    }
}
