//! Everything that runs beside a watched program, whether `sintonia` starts it (`run`) or attaches to it (`attach`).

pub(crate) mod environment;
mod finish;
mod listening;
pub(crate) mod live;
mod local_collector;
mod observation;
mod record;
mod tuning;

pub(crate) use finish::finish;
pub(crate) use observation::{Observation, SubjectOrigin};
pub(crate) use tuning::Tuning;

use run_record::measured::RunFacts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use symbols::{Program, ProgramError};

/// Program that is watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// Short name for files.
    pub(crate) name: &'a str,
    pub(crate) origin: SubjectOrigin,
}

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

/// Facts known when the watch begins.
pub(crate) fn facts(command: Vec<String>, traced: bool) -> RunFacts {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunFacts {
        sintonia_version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        started_s: since_1970.as_secs_f64(),
        traced,
        ..RunFacts::default()
    }
}

/// Name of a program, with the characters that are safe in file names.
pub(crate) fn plain_name(program: Option<&Path>) -> String {
    let name = program.and_then(Path::file_name).unwrap_or_else(|| "run".as_ref());
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    name.to_string_lossy().chars().filter(is_plain).collect()
}

/// Prints a warning for the user.
pub(crate) fn warn(text: &str) {
    eprintln!("sintonia: {text}");
}
