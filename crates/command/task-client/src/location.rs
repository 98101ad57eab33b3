//! Finds the folder of a daemon of this node.

use anyhow::Context;
use clap::Args;
use node_daemon::client_socket::{SOCKET, default_state};
use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Variable in which users name a daemon that has a folder of its own.
const VARIABLE: &str = "SINTONIA_NODE";
/// Variable in which a task finds the daemon of the node that it runs on.
const OF_TASK: &str = "SINTONIA_KEEPER";

/// Option for the daemon that is asked.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeOption {
    /// Folder of the daemon's state, or its socket; by default the one that `SINTONIA_NODE` names, in a task that of
    /// the node it runs on, else `sintonia/HOST` in `$XDG_STATE_HOME` or `~/.local/state`
    #[arg(long, value_name = "DIR")]
    node: Option<PathBuf>,
}

/// Option for the daemon that is started or stopped.
#[derive(Args, Clone, Debug)]
pub(crate) struct StateOption {
    /// Folder of the daemon's state; by default `sintonia/HOST` in `$XDG_STATE_HOME` or `~/.local/state`
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Location of a daemon.
#[derive(Clone, Debug)]
pub(crate) struct DaemonLocation {
    /// Path that an option or a variable names.
    path: Option<PathBuf>,
}

impl NodeOption {
    /// Location of the daemon that is asked.
    pub(crate) fn location(&self) -> DaemonLocation {
        let from_variables = || variable(VARIABLE).or_else(|| variable(OF_TASK));
        DaemonLocation { path: self.node.clone().or_else(from_variables) }
    }
}

impl StateOption {
    /// Location of a daemon that is started.
    pub(crate) fn location(&self) -> DaemonLocation {
        DaemonLocation { path: self.state.clone() }
    }

    /// Location of a daemon that runs.
    pub(crate) fn running(&self) -> DaemonLocation {
        DaemonLocation { path: self.state.clone().or_else(|| variable(VARIABLE)) }
    }
}

impl DaemonLocation {
    /// Folder of the daemon's state.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        let Some(path) = &self.path else {
            // Nodes may share a home, so the folder is named after the node.
            let node = own_name(|name| env::var(name).ok());
            return Ok(default_state(&node, |name| env::var_os(name))?);
        };
        let path = std::path::absolute(path).context(
            "the path of the daemon's folder is empty or cannot be resolved; name the folder",
        )?;
        let is_socket = fs::metadata(&path).is_ok_and(|metadata| metadata.file_type().is_socket());
        Ok(if is_socket { path.with_file_name("") } else { path })
    }

    /// Socket at which the daemon accepts clients.
    pub(crate) fn socket(&self) -> anyhow::Result<PathBuf> {
        Ok(self.folder()?.join(SOCKET))
    }

    /// Option behind a command that names the same daemon, to be shown to users.
    pub(crate) fn words(&self, option: &str) -> String {
        let path = self.path.as_deref();
        path.map_or_else(String::new, |path| format!(" {option} {}", shell_quoted(path)))
    }
}

fn shell_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Name of this machine up to its first dot.
pub(crate) fn host() -> String {
    let name = files::host_name();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Variables with the number of a rank on its host, and how many there are: Open MPI, MPICH.
const RANKS: [[&str; 2]; 2] = [
    ["OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"],
    ["MPI_LOCALRANKID", "MPI_LOCALNRANKS"],
];

/// Default name of a daemon. A launcher may have started several on this host, as a trial.
pub(crate) fn own_name(variable: impl Fn(&str) -> Option<String>) -> String {
    let rank = RANKS.iter().find_map(|[rank, n_ranks]| {
        let (rank, n_ranks) = (variable(rank)?, variable(n_ranks)?);
        (n_ranks.parse::<u32>().ok()? != 1).then_some(rank)
    });
    rank.map_or_else(host, |rank| format!("{}-{rank}", host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_host_have_names_of_their_own() {
        let check = |pairs: &[(&str, &str)], end: &str| {
            let found =
                |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
            assert_eq!(own_name(found), format!("{}{end}", host()));
        };
        check(&[], "");
        check(&[("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "1")], "");
        check(&[("MPI_LOCALRANKID", "2"), ("MPI_LOCALNRANKS", "3")], "-2");
        check(&[("OMPI_COMM_WORLD_LOCAL_RANK", "0"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "2")], "-0");
    }

    #[test]
    fn a_path_is_shown_as_a_shell_reads_it() {
        assert_eq!(shell_quoted(Path::new("/tmp/a-b_c.d")), "/tmp/a-b_c.d");
        assert_eq!(shell_quoted(Path::new("/tmp/it's")), r"'/tmp/it'\''s'");
    }
}
