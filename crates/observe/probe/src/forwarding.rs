//! Environment of ranks on other nodes: the list by which Open MPI's launcher forwards our variables.
//!
//! Open MPI refuses to start when both its list of variables (`mca_base_env_list`) and `-x` on the command
//! line are used, so only the launcher process, which sees its arguments, can set the list. MPICH's
//! launcher and `srun` forward the whole environment.
#![allow(unsafe_code, reason = "sets the environment of a launcher before its main")]

use std::ffi::{CString, OsString};

/// Variable with the names of the variables to forward, separated by semicolons; set by `sintonia run`.
const NAMES: &str = "SINTONIA_FORWARD";
const LIST: &str = "OMPI_MCA_mca_base_env_list";
/// Options, without their dashes, that name variables, or files that may name some.
const CONFLICTING: [&str; 4] = ["x", "app", "tune", "am"];
/// Options with two arguments.
const WITH_TWO: [&str; 6] = ["mca", "gmca", "omca", "pmca", "pmixmca", "prtemca"];
/// Options without an argument; others have one, unless it follows behind `=`.
const WITH_NONE: &str = "allow-run-as-root bind-to-core bind-to-none bind-to-socket bycore bynode byslot bysocket \
    continuous d debug debug-daemons debug-devel display-allocation display-devel-allocation display-devel-map display-map \
    display-topo do-not-launch do-not-resolve enable-recovery forward-signals get-stack-traces h help \
    leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe novm oversubscribe parsable parseable pernode q \
    quiet report-bindings report-child-jobs-separately staged tag-output timestamp-output tv use-hwthread-cpus use-regexp v \
    verbose version V xml";
/// Word between the programs of a job, each with options of its own.
const NEXT_PROGRAM: &str = ":";

/// Makes the launcher in this process forward our variables, unless it would refuse to.
///
/// Called before `main`, while the process has one thread.
pub(crate) fn forward() {
    let Ok(names) = std::env::var(NAMES) else { return };
    if names_variables(std::env::args_os().skip(1)) {
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

/// Returns whether options of the launcher name variables, given its words; arguments of programs do not count.
fn names_variables(words: impl Iterator<Item = OsString>) -> bool {
    let (mut n_arguments, mut is_program) = (0, false);
    for word in words {
        let word = word.to_string_lossy();
        if n_arguments != 0 {
            n_arguments -= 1;
        } else if is_program {
            is_program = word != NEXT_PROGRAM;
        } else if let Some(option) = word.strip_prefix('-') {
            let option = option.strip_prefix('-').unwrap_or(option);
            let name = option.split('=').next().unwrap_or_default();
            if CONFLICTING.contains(&name) {
                return true;
            }
            n_arguments = match () {
                () if WITH_TWO.contains(&name) => 2,
                () if name != option || WITH_NONE.split_whitespace().any(|it| it == name) => 0,
                () => 1,
            };
        } else {
            is_program = true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: bool) {
        assert_eq!(names_variables(words.split(' ').map(OsString::from)), expected, "{words}");
    }

    /// CoMD has an option `-x`, and its ranks on other nodes were not seen.
    #[test]
    fn options_of_programs_name_no_variables() {
        check("-np 2 comd -x 20 -y 20", false);
        check("--map-by node --mca btl tcp,self --oversubscribe -np 2 /bin/comd -x 20", false);
        check("-n 2 --host=a,b comd --x 3 : -n 1 other -x", false);
        check("comd", false);
    }

    #[test]
    fn options_of_the_launcher_do() {
        check("-np 2 -x PATH comd", true);
        check("--map-by node -x PATH -np 2 comd", true);
        check("-n 1 comd 5 : -x HOME -n 1 other", true);
        check("--tune file -np 2 comd", true);
        check("--app=jobs", true);
    }
}
