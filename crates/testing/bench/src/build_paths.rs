//! Paths of this repository, of what was built, and of results.

use crate::error::BenchError;
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
    /// Launcher; `None` if it is not built.
    pub(crate) sintonia: Option<PathBuf>,
}

impl BuildPaths {
    /// Finds everything beside this program.
    pub(crate) fn find() -> Result<Self, BenchError> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let root = root.canonicalize().map_err(|source| BenchError::File { path: root, source })?;
        let own = std::env::current_exe().unwrap_or_else(|_| root.join("target/release/bench"));
        let built = own.parent().map(Path::to_owned).unwrap_or_default();
        let probe = built.join("libsintonia.so");
        if !probe.exists() {
            return Err(BenchError::NotBuilt(probe));
        }
        let results = root.join("target/bench");
        make_folder(&results.join("scratch"))?;
        let sintonia = Some(built.join("sintonia")).filter(|path| path.exists());
        Ok(Self { root, results, probe, sintonia })
    }

    /// Path of the program that times probes at functions.
    pub(crate) fn price(&self) -> Result<PathBuf, BenchError> {
        let price = self.probe.with_file_name("examples/price");
        if price.exists() { Ok(price) } else { Err(BenchError::NotBuilt(price)) }
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
    pub(crate) fn write_json(
        &self,
        name: &str,
        json: &serde_json::Value,
    ) -> Result<(), BenchError> {
        let path = self.results.join(format!("{name}.json"));
        std::fs::write(&path, format!("{json:#}\n"))
            .map_err(|source| BenchError::File { path, source })
    }
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(path)
        .map_err(|source| BenchError::File { path: path.to_owned(), source })
}

/// Path of the file of this name in the folders of `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
