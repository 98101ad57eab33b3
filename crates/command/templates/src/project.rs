//! Projects that are made for the user: their names and files.

mod name;

use anyhow::{Context, bail};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use user_io::exit::NotWritten;

pub(crate) use name::check as check_name;

/// Languages of projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// C, built by `make`
    C,
    /// Rust, built by `cargo`
    Rust,
}

/// File of a project: its path inside the project, and its text.
pub(crate) type File = (String, String);

/// Folder of a project: the one asked for, or its name.
pub(crate) fn folder(name: &str, asked: Option<&Path>) -> PathBuf {
    asked.map_or_else(|| PathBuf::from(name), Path::to_owned)
}

/// Makes the folder and writes the files.
pub(crate) fn write(dir: &Path, files: &[File]) -> anyhow::Result<()> {
    if dir.symlink_metadata().is_ok() {
        bail!("`{}` is there already; name another folder with `--dir`", dir.display());
    }
    for (path, text) in files {
        let path = dir.join(path);
        let parent = path.parent().expect("it is inside the folder");
        let outcome = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        outcome.with_context(|| format!("`{}`", path.display())).context(NotWritten)?;
    }
    Ok(())
}
