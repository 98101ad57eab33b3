//! Environment of ranks on other nodes: the list by which Open MPI's launcher forwards our variables.
//!
//! Open MPI refuses to start when both its list of variables (`mca_base_env_list`) and `-x` on the command
//! line are used, so only the launcher process, which sees its arguments, can set the list. MPICH's
//! launcher and `srun` forward the whole environment.
#![allow(unsafe_code, reason = "sets the environment of a launcher before its main")]

use std::ffi::CString;

/// Variable with the names of the variables to forward, separated by semicolons; set by `sintonia run`.
const NAMES: &str = "SINTONIA_FORWARD";
const LIST: &str = "OMPI_MCA_mca_base_env_list";
/// Options that name variables, or files that may name some.
const CONFLICTING: [&str; 7] = ["-x", "--x", "-app", "--app", "-tune", "--tune", "-am"];

/// Makes the launcher in this process forward our variables, unless it would refuse to.
///
/// Called before `main`, while the process has one thread.
pub(crate) fn forward() {
    let Ok(names) = std::env::var(NAMES) else { return };
    // Arguments of the program match, too: missing some ranks is better than making their launcher fail.
    if std::env::args_os().any(|word| CONFLICTING.iter().any(|option| word == *option)) {
        return;
    }
    let list = match std::env::var(LIST) {
        Ok(before) if before.contains(&names) => return,
        Ok(before) if !before.is_empty() => format!("{before};{names}"),
        _ => names,
    };
    if let (Ok(name), Ok(list)) = (CString::new(LIST), CString::new(list)) {
        // SAFETY: both are C strings; no other thread exists before `main`.
        unsafe { libc::setenv(name.as_ptr(), list.as_ptr(), 1) };
    }
}
