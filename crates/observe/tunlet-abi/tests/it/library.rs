//! Libraries and programs used by the tests.

use c_header::{repository, run};
use launch::example;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

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
