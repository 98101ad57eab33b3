//! Programs of a job, as far as they are known.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use symbols::{Program, ProgramError};

/// Programs of a job, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// Program that is watched.
    pub(crate) observed: Option<PathBuf>,
    /// All programs, such as those that the words of a command name, in order.
    pub(crate) all: Vec<PathBuf>,
    /// `LD_LIBRARY_PATH` of the programs.
    pub(crate) library_path: Option<OsString>,
}

impl Programs {
    /// The watched program, then the others.
    pub(crate) fn nearest_first(&self) -> impl Iterator<Item = &Path> {
        let others = self.all.iter().filter(|path| Some(*path) != self.observed.as_ref());
        self.observed.iter().chain(others).map(PathBuf::as_path)
    }

    /// Opens a program; its libraries are looked for where it will look for them.
    pub(crate) fn open(&self, path: &Path) -> Result<Program, ProgramError> {
        Program::open_with(path, self.library_path.as_deref())
    }
}

/// Name of a program, with the characters that are safe in file names.
pub(crate) fn plain_name(program: Option<&Path>) -> String {
    let name = program.and_then(Path::file_name).unwrap_or_else(|| "run".as_ref());
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    name.to_string_lossy().chars().filter(is_plain).collect()
}
