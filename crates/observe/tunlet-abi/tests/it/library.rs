//! Libraries and programs used by the tests.

use launch::example;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Returns the path of a file in this repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

/// Returns the path of the tunlet that repeats its news.
pub(crate) fn echo() -> PathBuf {
    example("libecho.so")
}

/// Returns the path of the program that runs foreign tunlets.
pub(crate) fn host_program() -> PathBuf {
    example("tunlet-host")
}

/// A library compiled for one test.
#[derive(Debug)]
pub(crate) struct Library {
    dir: TempDir,
}

impl Library {
    /// Compiles `source`, a path in this repository, with `defines`.
    #[track_caller]
    pub(crate) fn compile(source: &str, defines: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("cc");
        command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]);
        command.args(defines.iter().map(|define| format!("-D{define}")));
        command.arg("-I").arg(repository("crates/observe/tunlet-abi/include"));
        command.arg(repository(source)).arg("-lm").arg("-o").arg(dir.path().join("tunlet.so"));
        run(&mut command);
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("tunlet.so")
    }
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}
