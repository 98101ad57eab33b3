//! Starts another launcher like the one that started this process.

use crate::library;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Prefixes of the variables by which a launcher and its ranks communicate.
const OWN: [&str; 4] = ["PMI_", "PMIX_", "HYDI_", "MPI_LOCAL"];
/// Variables with the file descriptors over which MPICH's launcher communicates with a rank.
const FILES: [&str; 2] = ["PMI_FD", "HYDI_CONTROL_FD"];
/// Variable with the interface over which MPICH's launcher is reached.
const INTERFACE: &str = "HYDRA_IFACE";
/// Time in which a launcher ends what it has started.
const FAREWELL: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(5);

/// Returns the `mpiexec` beside the launcher that started this process.
#[must_use]
pub fn beside() -> Option<PathBuf> {
    library::launchers()
        .filter_map(|launcher| Some(launcher.parent()?.join("mpiexec")))
        .find(|path| path.exists())
}

/// Returns the `mpiexec` beside the launcher that started this process, as a command that does not consider itself part
/// of this job; `None` where no such launcher is found. It is in a process group of its own, see [`end`].
///
/// From now on, file descriptors to this process's own launcher are not inherited by programs that it starts.
#[must_use]
pub fn another() -> Option<Command> {
    let program = beside()?;
    FILES.iter().for_each(|name| keep(name));
    let mut command = Command::new(program);
    command.process_group(0);
    std::env::vars_os().filter(|(name, _)| is_own(name)).for_each(|(name, _)| {
        command.env_remove(name);
    });
    // The launcher of this job may have run on another node, with other interfaces.
    if std::env::var_os(INTERFACE).is_some_and(|name| !is_interface(&name)) {
        command.env_remove(INTERFACE);
    }
    Some(command)
}

/// Ends a launcher of [`another`], and the commands by which it reaches hosts: it gets two seconds to end its processes.
pub fn end(mut launcher: Child) {
    signal(&launcher, libc::SIGTERM);
    let until = Instant::now() + FAREWELL;
    while matches!(launcher.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(NAP);
    }
    signal(&launcher, libc::SIGKILL);
    // It has been killed.
    let _ended = launcher.wait();
}

/// Sends a signal to the group of a launcher. Commands that it started may be there when it is gone.
fn signal(launcher: &Child, number: i32) {
    if let Ok(group) = i32::try_from(launcher.id()) {
        // SAFETY: no memory is involved; the group is that of a child that was started to lead it.
        let _sent = unsafe { libc::kill(-group, number) };
    }
}

/// Returns whether this node has a network interface of this name.
fn is_interface(name: &OsStr) -> bool {
    let Ok(name) = CString::new(name.as_encoded_bytes()) else { return false };
    // SAFETY: the name is a string that ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    index != 0
}

fn is_own(name: &OsString) -> bool {
    name.to_str().is_some_and(|name| OWN.iter().any(|start| name.starts_with(start)))
}

/// Closes a descriptor on exec: a launcher that waits for the end of this connection would also wait for programs that
/// inherited it.
fn keep(name: &str) {
    let number = std::env::var(name).ok().and_then(|text| text.parse::<i32>().ok());
    if let Some(file) = number {
        // SAFETY: changes a flag of a descriptor of this process; a number without a file is rejected.
        let _done = unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: bool) {
        assert_eq!(is_own(&name.into()), expected, "{name}");
    }

    #[test]
    fn an_interface_of_another_node_is_none() {
        assert!(is_interface(OsStr::new("lo")));
        assert!(!is_interface(OsStr::new("no-such-interface")));
    }

    #[test]
    fn what_ranks_know_of_their_launcher_is_its_own() {
        check("PMI_RANK", true);
        check("HYDI_CONTROL_FD", true);
        check("MPI_LOCALNRANKS", true);
        check("HYDRA_LAUNCHER_EXEC", false);
        check("MPIR_CVAR_CH4_NETMOD", false);
    }
}
