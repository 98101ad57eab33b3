//! Ranks on other nodes: the list by which Open MPI's launcher carries our variables to them.
//!
//! Open MPI refuses to start when its list of variables (`mca_base_env_list`) meets `-x` on the command
//! line, so only the launcher itself, who sees its words, may set the list. MPICH's launcher and `srun`
//! carry everything.
#![allow(unsafe_code, reason = "sets the environment of a launcher before its main")]

use std::ffi::CString;

/// Names of the variables to carry, separated by semicolons; set by `sintonia run`.
const NAMES: &str = "SINTONIA_FORWARD";
const LIST: &str = "OMPI_MCA_mca_base_env_list";
/// Options that name variables, or files that may.
const CONFLICTING: [&str; 7] = ["-x", "--x", "-app", "--app", "-tune", "--tune", "-am"];

/// Lets the launcher that this process is carry our variables, where it would not refuse to.
///
/// Before `main`, while the process has one thread.
pub(crate) fn forward() {
    let Ok(names) = std::env::var(NAMES) else { return };
    // Also words of the program: better not to see ranks than to make their launcher fail.
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
