//! Checks of the MPI libraries whose launchers are in `PATH`.

use crate::check::Check;
use crate::commands;
use std::path::{Path, PathBuf};

const NAMES: &str = "mpirun mpiexec mpirun.openmpi mpiexec.openmpi mpirun.mpich mpiexec.mpich mpiexec.hydra prterun";

/// The launcher of an MPI library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    pub(crate) path: PathBuf,
    /// True for Open MPI, false for MPICH.
    pub(crate) is_open_mpi: bool,
    /// Major and minor number.
    pub(crate) version: (u32, u32),
    /// Version as the launcher prints it.
    pub(crate) text: String,
}

impl Launcher {
    /// Launcher at this path; `None` if its make is unknown.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Self::from_version_text(&version_text(path)?, path)
    }

    fn from_version_text(text: &str, path: &Path) -> Option<Self> {
        let is_open_mpi =
            text.contains("Open MPI") || text.contains("OpenRTE") || text.contains("PRRTE");
        let is_mpich = text.contains("HYDRA") || text.contains("MPICH");
        let (text, version) = version(text).filter(|_| is_open_mpi || is_mpich)?;
        Some(Self { path: path.to_owned(), is_open_mpi, version, text })
    }

    /// Name of the library, with its version, and path of the launcher.
    pub(crate) fn name_and_path(&self) -> String {
        format!("{}, {}", self.name(), self.path.display())
    }

    /// Name of the library, with its version.
    fn name(&self) -> String {
        format!("{} {}", if self.is_open_mpi { "Open MPI" } else { "MPICH" }, self.text)
    }
}

fn version_text(launcher: &Path) -> Option<String> {
    commands::output_of(&launcher.to_string_lossy(), &["--version"])
}

/// Launchers in `PATH`, one for each library and version, most usual names first.
pub(crate) fn launchers() -> Vec<Launcher> {
    let mut launchers: Vec<Launcher> = Vec::new();
    for launcher in distinct().iter().filter_map(|path| Launcher::at(path)) {
        if !launchers.iter().any(|known| known.name() == launcher.name()) {
            launchers.push(launcher);
        }
    }
    launchers
}

/// One check per library and version, or one that says that there is none.
pub(crate) fn libraries() -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for path in distinct() {
        let Some(text) = version_text(&path) else { continue };
        let check = judge(&text, &path);
        if !checks.iter().any(|known| same_library(known, &check)) {
            checks.push(check);
        }
    }
    if checks.is_empty() {
        let advice = [
            "no MPI program can be started here",
            "install one, for instance `apt install openmpi-bin`, or load its module",
        ];
        checks.push(Check::missing("MPI", "no launcher in PATH", advice));
    }
    checks
}

/// Paths of launchers in `PATH`, each file once.
fn distinct() -> Vec<PathBuf> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in NAMES.split(' ').filter_map(commands::find) {
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !seen.contains(&target) {
            seen.push(target);
            paths.push(path);
        }
    }
    paths
}

fn same_library(one: &Check, other: &Check) -> bool {
    let library = |check: &Check| check.found.split(", ").next().map(str::to_owned);
    library(one) == library(other)
}

const SPAWN_WITH: &str =
    "for programs that start processes while they run, use MPICH 5 or Open MPI 5";

/// Judges what a launcher prints about itself; the defects of versions were met with programs that spawn.
fn judge(text: &str, path: &Path) -> Check {
    let Some(launcher) = Launcher::from_version_text(text, path) else {
        let advice = [
            "works only if it is derived from Open MPI or MPICH",
            "try `sintonia run` with it and look at the line `mpi` of the report",
        ];
        let found = format!("a launcher of unknown make, {}", path.display());
        return Check::limited("MPI", found, advice);
    };
    let found = launcher.name_and_path();
    let costs = match (launcher.is_open_mpi, launcher.version) {
        (true, (..=4, _)) => {
            "MPI_Comm_spawn hangs now and then: a child stays in its start-up (openpmix #2735)"
        }
        (true, _) => return Check::ok("MPI", found),
        (false, (..=3, _) | (4, ..=2)) => {
            "MPI_Comm_spawn is impossible where MPICH is built on ucx (as Debian's is), until 4.3"
        }
        (false, _) => return Check::ok("MPI", found),
    };
    Check::limited("MPI", found, [costs, SPAWN_WITH])
}

/// First word that looks like a version: as it is written, and its major and minor number.
fn version(text: &str) -> Option<(String, (u32, u32))> {
    let parse = |word: &str| {
        let mut parts = word.split('.');
        let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?);
        let digits = minor.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(minor.len());
        Some((word.to_owned(), (major, minor[..digits].parse().ok()?)))
    };
    text.split_whitespace().find_map(parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckResult;

    #[track_caller]
    fn check(said: &str, found: &str, state: CheckResult) {
        let check = judge(said, Path::new("/usr/bin/mpirun"));
        assert_eq!((check.found, check.state), (format!("{found}, /usr/bin/mpirun"), state));
    }

    #[test]
    fn a_launcher_says_which_library_it_is_of() {
        use CheckResult::{Limited, Ok};
        let open_mpi_4 =
            "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/";
        check(open_mpi_4, "Open MPI 4.1.4", Limited);
        check("mpiexec (Open MPI) 5.0.11\n", "Open MPI 5.0.11", Ok);
        check("HYDRA build details:\n  Version:   4.0.2\n", "MPICH 4.0.2", Limited);
        check("HYDRA build details:\n  Version:   4.3.0rc1\n", "MPICH 4.3.0rc1", Ok);
        check("HYDRA build details:\n  Version:   5.0.2\n", "MPICH 5.0.2", Ok);
        check("true 9.1\n", "a launcher of unknown make", Limited);
        check("what?", "a launcher of unknown make", Limited);
    }
}
