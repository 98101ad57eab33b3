//! Programs that are compiled, but not run, to look up their names.

use crate::compiled::{run, source};
use std::path::PathBuf;
use std::process::Command;
use symbols::{LookupError, Program, Variable};
use tempfile::TempDir;

pub(crate) struct Built {
    pub(crate) path: PathBuf,
    _dir: TempDir,
}

impl Built {
    /// Compiles `sources`; a source may be followed by further options, separated by spaces.
    #[track_caller]
    pub(crate) fn new(compiler: &str, flags: &[&str], sources: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("program");
        let mut command = Command::new(compiler);
        command.current_dir(dir.path()).args(flags);
        run(command.args(sources.iter().map(|name| source(name))).arg("-o").arg(&path));
        Self { path, _dir: dir }
    }

    /// Compiles the C program with its second file as a library.
    #[track_caller]
    pub(crate) fn with_library(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let gcc = |arguments: &[&str]| {
            run(Command::new("gcc").current_dir(dir.path()).args(flags).args(arguments));
        };
        let (lookup, other) = (source("lookup.c"), source("other.c"));
        let other = other.to_str().expect("text");
        gcc(&["-shared", "-fPIC", other, "-o", "libother.so"]);
        let lookup = lookup.to_str().expect("text");
        gcc(&[lookup, "libother.so", "-Wl,-rpath,$ORIGIN", "-o", "program"]);
        Self { path: dir.path().join("program"), _dir: dir }
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
