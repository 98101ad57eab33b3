//! Programs that are compiled, but not run, to look up their names.

use crate::compiled::{compile, run, source};
use std::path::PathBuf;
use std::process::Command;
use symbols::{LookupError, Program, Variable};
use tempfile::TempDir;

pub(crate) struct Built {
    pub(crate) path: PathBuf,
    _dir: TempDir,
}

impl Built {
    #[track_caller]
    pub(crate) fn new(compiler: &str, flags: &[&str], sources: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let sources = sources.iter().map(|name| source(name));
        Self { path: compile(&dir, compiler, flags, sources, "program"), _dir: dir }
    }

    /// Compiles the C program with its second file as a library.
    #[track_caller]
    pub(crate) fn with_library(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let shared = [flags, &["-shared", "-fPIC"]].concat();
        compile(&dir, "gcc", &shared, [source("other.c")], "libother.so");
        let flags = [flags, &["-Wl,-rpath,$ORIGIN"]].concat();
        // By its name alone, so that the program finds it through its `rpath`.
        let files = [source("lookup.c"), "libother.so".into()];
        Self { path: compile(&dir, "gcc", &flags, files, "program"), _dir: dir }
    }

    #[track_caller]
    pub(crate) fn program(&self) -> Program {
        Program::open(&self.path).expect("a program")
    }

    /// Runs a tool on the program.
    #[track_caller]
    pub(crate) fn tool(&self, tool: &str, arguments: &[&str]) {
        run(Command::new(tool).args(arguments).arg(&self.path));
    }
}

/// Formats the result of looking up a variable, as one line.
pub(crate) fn said(found: Result<Variable, LookupError>) -> String {
    match found {
        Ok(found) => {
            let kind = found.kind.map_or("?", events::ValueType::name);
            let scope = if found.is_static { " static" } else { "" };
            let volatile = if found.is_volatile { " volatile" } else { "" };
            format!("{kind} {}{scope}{volatile} in {}", found.n_bytes, found.section)
        }
        Err(error) => error.to_string(),
    }
}
