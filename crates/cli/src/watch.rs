//! What runs beside a program that is watched, whether we start it (`run`) or attach to it (`attach`).

pub(crate) mod environment;
mod finish;
mod listening;
pub(crate) mod live;
mod local_collector;
mod observation;
mod record;
mod tuning;

pub(crate) use finish::finish;
pub(crate) use observation::{Observation, Way};
pub(crate) use tuning::Tuning;

use analyzer::RunFacts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use symbols::{Program, ProgramError};

/// What a program is, and whether it is there already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// A short name for files.
    pub(crate) name: &'a str,
    pub(crate) way: Way,
}

/// The programs of a job, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// The one that is watched.
    pub(crate) observed: Option<PathBuf>,
    /// All, such as those of the words of a command, in order.
    pub(crate) all: Vec<PathBuf>,
    /// Their `LD_LIBRARY_PATH`.
    pub(crate) library_path: Option<OsString>,
}

impl Programs {
    /// The one that is watched, then the others.
    pub(crate) fn nearest_first(&self) -> impl Iterator<Item = &Path> {
        let others = self.all.iter().filter(|path| Some(*path) != self.observed.as_ref());
        self.observed.iter().chain(others).map(PathBuf::as_path)
    }

    /// One of them, whose libraries are looked for where it will look.
    pub(crate) fn open(&self, path: &Path) -> Result<Program, ProgramError> {
        Program::open_with(path, self.library_path.as_deref())
    }
}

/// What is known when the watch begins.
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

/// The name of a program as files may have it.
pub(crate) fn plain_name(program: Option<&Path>) -> String {
    let name = program.and_then(Path::file_name).unwrap_or_else(|| "run".as_ref());
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    name.to_string_lossy().chars().filter(is_plain).collect()
}

/// Says what went wrong, to the person.
pub(crate) fn warn(text: &str) {
    eprintln!("sintonia: {text}");
}
