//! C programs built with the library, for tests.

use c_header::{repository, run};
use launch::Job;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Folder of the built library.
#[track_caller]
pub(crate) fn library() -> PathBuf {
    launch::place::built("libmaster_worker.a");
    launch::place::built("libmaster_worker.so")
        .parent()
        .expect("a file lies in a folder")
        .to_owned()
}

/// Kind of linking.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Static,
    Shared,
}

/// C program built for one test.
#[derive(Debug)]
pub(crate) struct Program {
    dir: TempDir,
}

impl Program {
    /// Builds a source file of this crate.
    #[track_caller]
    pub(crate) fn build(compiler: &str, standard: &str, link: Link, source: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", standard]);
        command.arg("-I").arg(repository("crates/libraries/master-worker-c/include"));
        command.arg(repository("crates/libraries/master-worker-c").join(source));
        match link {
            Link::Static => command.arg(library().join("libmaster_worker.a")),
            Link::Shared => {
                let folder = library();
                command.arg("-L").arg(&folder).arg("-lmaster_worker");
                command.arg(format!("-Wl,-rpath,{}", folder.display()))
            }
        };
        run(command.arg("-lm").arg("-o").arg(dir.path().join("program")));
        Self { dir }
    }

    /// Builds it with the most common settings.
    #[track_caller]
    pub(crate) fn usual(source: &str) -> Self {
        Self::build("gcc", "-std=c99", Link::Shared, source)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("program")
    }

    /// Path of a file beside the program.
    pub(crate) fn beside(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Job of the program on threads, with these arguments.
    pub(crate) fn job(&self, arguments: &str) -> Job {
        Job::new(self.path()).args(arguments.split_whitespace())
    }
}
