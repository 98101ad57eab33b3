//! Programs in C, C++ and Fortran built with the library and an MPI library, for tests.

use c_header::{repository, run};
use launch::library::Language;
use launch::{Job, Library};
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

/// Program built for one test.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) mpi: Library,
    dir: TempDir,
}

impl Program {
    /// Builds a source file of this crate for an MPI library.
    #[track_caller]
    pub(crate) fn of(mpi: Library, source: &str) -> Self {
        let (dir, folder) = (tempfile::tempdir().expect("a folder"), library());
        let include = repository("crates/libraries/malleable-c/include");
        let mut command = match source.rsplit_once('.') {
            Some((_, "cc")) => compiler(mpi, Language::Cpp, &["-std=c++14", "-DOMPI_SKIP_MPICXX"]),
            Some((_, "f90")) => {
                let unused = "-Wno-unused-dummy-argument";
                let mut command = compiler(mpi, Language::Fortran, &["-std=f2018", unused]);
                command.arg("-J").arg(dir.path());
                command.arg(include.join("sintonia_malleable_arrays.f90"));
                command.arg(include.join("sintonia_malleable.f90"));
                command
            }
            _ => compiler(mpi, Language::C, &["-std=c99"]),
        };
        command.arg("-I").arg(include);
        command.arg(repository("crates/libraries/malleable-c").join(source));
        command.arg("-L").arg(&folder).arg("-lsintonia_malleable");
        command.arg(format!("-Wl,-rpath,{}", folder.display()));
        run(command.arg("-o").arg(dir.path().join("program")));
        Self { mpi, dir }
    }

    /// Job of the program on `n_ranks` ranks, with a control folder of its own.
    pub(crate) fn job(&self, n_ranks: usize) -> Job {
        let job = self.mpi.launch(n_ranks, &self.dir.path().join("program"));
        job.arg("--control").arg(self.dir.path().join("control"))
    }
}

fn compiler(mpi: Library, language: Language, words: &[&str]) -> Command {
    let mut command = Command::new(mpi.compiler(language));
    command.args(["-Wall", "-Wextra", "-Werror", "-O1"]).args(words);
    command
}
