//! C programs built with the library and an MPI library, for tests.

use c_header::{repository, run};
use launch::Library;
use launch::library::Language;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Folder of the built library.
#[track_caller]
pub(crate) fn library() -> PathBuf {
    launch::place::built("libsintonia_malleable.a");
    launch::place::built("libsintonia_malleable.so")
        .parent()
        .expect("a file lies in a folder")
        .to_owned()
}

/// C program built for one test.
#[derive(Debug)]
pub(crate) struct Program {
    dir: TempDir,
}

impl Program {
    /// Builds a source file of this crate for an MPI library.
    #[track_caller]
    pub(crate) fn of(mpi: Library, source: &str) -> Self {
        let (dir, folder) = (tempfile::tempdir().expect("a folder"), library());
        let mut command = Command::new(mpi.compiler(Language::C));
        command.args(["-Wall", "-Wextra", "-Werror", "-O1", "-std=c99"]);
        command.arg("-I").arg(repository("crates/libraries/malleable-c/include"));
        command.arg(repository("crates/libraries/malleable-c").join(source));
        command.arg("-L").arg(&folder).arg("-lsintonia_malleable");
        command.arg(format!("-Wl,-rpath,{}", folder.display()));
        run(command.arg("-o").arg(dir.path().join("program")));
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.beside("program")
    }

    /// Path of a file beside the program.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}
