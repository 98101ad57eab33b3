//! Paths of this repository, of what was built, and of results.

use crate::error::BenchError;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folders and programs of this build.
#[derive(Debug)]
pub(crate) struct BuildPaths {
    /// Root of the repository.
    pub(crate) root: PathBuf,
    /// Folder `target/bench`: results, compiled programs, scratch.
    pub(crate) results: PathBuf,
    /// Probe.
    pub(crate) probe: PathBuf,
}

impl BuildPaths {
    /// Finds everything beside this program.
    pub(crate) fn find() -> Result<Self, BenchError> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let root = root.canonicalize().map_err(BenchError::file(&root))?;
        let own = std::env::current_exe().unwrap_or_else(|_| root.join("target/release/bench"));
        let probe = own.with_file_name("libsintonia.so");
        if !probe.exists() {
            return Err(BenchError::NotBuilt(probe));
        }
        let results = root.join("target/bench");
        make_folder(&results.join("scratch"))?;
        Ok(Self { root, results, probe })
    }

    /// Path of a program that lies beside the probe, or below.
    pub(crate) fn built(&self, name: &str) -> Result<PathBuf, BenchError> {
        let path = self.probe.with_file_name(name);
        if path.exists() { Ok(path) } else { Err(BenchError::NotBuilt(path)) }
    }

    /// Path of a C program of this crate.
    pub(crate) fn source(&self, name: &str) -> PathBuf {
        self.root.join("crates/testing/bench/programs").join(name)
    }

    /// Path of an input file of this crate.
    pub(crate) fn input(&self, name: &str) -> PathBuf {
        self.root.join("crates/testing/bench/inputs").join(name)
    }

    /// Folder in which a program may leave files.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.results.join("scratch")
    }

    /// Writes figures for other programs.
    pub(crate) fn write_json(&self, name: &str, json: &Value) -> Result<(), BenchError> {
        let path = self.results.join(format!("{name}.json"));
        std::fs::write(&path, format!("{json:#}\n")).map_err(BenchError::file(&path))
    }
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(path).map_err(BenchError::file(path))
}

/// Path of the file of this name in the folders of `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
