//! Finds the MPI library of this process, or opens that of the launcher that started it.
//!
//! A program that is linked with an MPI library has it already. Otherwise the ancestors of this process
//! are examined: the first that is a launcher determines the family, and the library
//! installed beside it is the matching one.
//!
//! The library is opened globally, and functions are then looked up as in a linked program, so that a
//! preloaded monitor sees the calls.

use crate::MpiError;
use mpi_abi::LibraryFamily;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// Environment variable with the path of the library, which takes precedence over all guesses.
const VARIABLE: &str = "SINTONIA_MPI_LIBRARY";

/// Returns a function or variable of this process by name.
pub(crate) fn symbol(name: &CStr) -> Option<NonNull<libc::c_void>> {
    // SAFETY: a NUL-terminated name; looking it up changes nothing.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Loads the library, if it is not loaded yet; returns its family.
pub(crate) fn load() -> Result<LibraryFamily, MpiError> {
    if let Some(library) = loaded() {
        return Ok(library);
    }
    let names = match std::env::var_os(VARIABLE) {
        Some(path) => vec![PathBuf::from(path)],
        None => launcher().ok_or(MpiError::NoLauncher)?.libraries(),
    };
    let mut why = String::new();
    for name in &names {
        match open(name) {
            Ok(()) => return loaded().ok_or_else(|| MpiError::OtherLibrary(name.clone())),
            Err(sentence) => why = sentence,
        }
    }
    let path = names.first().cloned().unwrap_or_default();
    Err(MpiError::NoLibrary { path, why })
}

/// Returns the family of the library that is loaded in this process.
fn loaded() -> Option<LibraryFamily> {
    LibraryFamily::detect("", |name| CString::new(name).is_ok_and(|name| symbol(&name).is_some()))
}

fn open(path: &Path) -> Result<(), String> {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: a NUL-terminated name; initializing an MPI library has no preconditions.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if !handle.is_null() {
        return Ok(());
    }
    // SAFETY: returns the last failure of this thread, which has just occurred.
    let text = unsafe { libc::dlerror() };
    // SAFETY: after a failure it is a NUL-terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    Err(text.to_string_lossy().into_owned())
}

/// Launcher that started this process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Launcher {
    is_open_mpi: bool,
    /// Installation prefix, where it is known.
    prefix: Option<PathBuf>,
}

impl Launcher {
    /// Returns the possible paths of its library, the most likely first.
    fn libraries(&self) -> Vec<PathBuf> {
        let names: &[&str] =
            if self.is_open_mpi { &["libmpi.so.40"] } else { &["libmpi.so.12", "libmpich.so.12"] };
        let mut libraries = Vec::new();
        for folder in
            self.prefix.iter().flat_map(|prefix| [prefix.join("lib"), prefix.join("lib64")])
        {
            libraries.extend(names.iter().map(|name| folder.join(name)));
        }
        libraries.retain(|path| path.exists());
        // The dynamic linker finds libraries installed by the distribution.
        libraries.extend(names.iter().map(PathBuf::from));
        libraries
    }

    /// Returns the launcher that this program file is, if it is one.
    fn of_program(program: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?;
        let is_open_mpi = ["orterun", "orted", "prterun", "prted", "prte"].contains(&name);
        let is_mpich = name.starts_with("hydra") || name.starts_with("mpiexec");
        let prefix = || Some(program.parent()?.parent()?.to_owned());
        (is_open_mpi || is_mpich).then(|| Self { is_open_mpi, prefix: prefix() })
    }

    /// Returns the launcher that sets these variables.
    fn of_environment(is_set: impl Fn(&str) -> bool) -> Option<Self> {
        let open_mpi = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK"].into_iter().any(&is_set);
        let mpich = ["PMI_RANK", "PMI_FD", "MPI_LOCALNRANKS"].into_iter().any(&is_set);
        (open_mpi || mpich).then_some(Self { is_open_mpi: open_mpi, prefix: None })
    }
}

fn launcher() -> Option<Launcher> {
    let by_variables = Launcher::of_environment(|name| std::env::var_os(name).is_some())?;
    let by_ancestors = ancestors().find_map(|program| Launcher::of_program(&program));
    Some(by_ancestors.unwrap_or(by_variables))
}

/// Returns the programs of the launchers that started this process, the nearest first.
pub(crate) fn launchers() -> impl Iterator<Item = PathBuf> {
    ancestors().filter(|program| Launcher::of_program(program).is_some())
}

/// Returns the programs of this process's ancestors, the parent first.
fn ancestors() -> impl Iterator<Item = PathBuf> {
    let pids = std::iter::successors(parent("self"), |pid| parent(pid));
    pids.filter_map(|pid| fs::read_link(Path::new("/proc").join(pid).join("exe")).ok())
}

fn parent(pid: impl AsRef<OsStr>) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc").join(pid.as_ref()).join("stat")).ok()?;
    let (_, after_name) = text.rsplit_once(')')?;
    let pid = after_name.split_whitespace().nth(1)?;
    (pid != "0").then(|| pid.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_program(program: &str, expected: Option<(bool, &str)>) {
        let expected = expected.map(|(is_open_mpi, prefix)| Launcher {
            is_open_mpi,
            prefix: Some(PathBuf::from(prefix)),
        });
        assert_eq!(Launcher::of_program(Path::new(program)), expected);
    }

    #[test]
    fn a_launcher_is_known_by_its_program() {
        check_program("/usr/bin/orterun", Some((true, "/usr")));
        check_program("/opt/ompi5/bin/prted", Some((true, "/opt/ompi5")));
        check_program("/opt/mpich/bin/hydra_pmi_proxy", Some((false, "/opt/mpich")));
        check_program("/opt/mpich/bin/mpiexec.gforker", Some((false, "/opt/mpich")));
        check_program("/usr/bin/bash", None);
    }

    #[track_caller]
    fn check_variables(variables: &[&str], is_open_mpi: Option<bool>) {
        let found = Launcher::of_environment(|name| variables.contains(&name));
        assert_eq!(found.map(|launcher| launcher.is_open_mpi), is_open_mpi);
    }

    #[test]
    fn a_launcher_is_known_by_its_variables() {
        check_variables(&["PMIX_RANK", "OMPI_COMM_WORLD_SIZE"], Some(true));
        check_variables(&["PMI_RANK", "PMI_SIZE"], Some(false));
        check_variables(&["HOME"], None);
    }

    #[test]
    fn the_parents_of_this_process_are_found() {
        let own = std::os::unix::process::parent_id().to_string();
        assert_eq!(parent("self"), Some(own));
        assert!(ancestors().next().is_some());
    }
}
