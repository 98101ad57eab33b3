//! Where the daemon of this node has its files.

use anyhow::Context;
use balancer::door::{SOCKET, default_state};
use clap::Args;
use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Where people beside a daemon with a folder of its own find it.
const VARIABLE: &str = "SINTONIA_NODE";
/// Where a task finds the daemon of the node that it runs on.
const OF_TASK: &str = "SINTONIA_KEEPER";

/// Which daemon is asked.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeOption {
    /// Folder of the daemon's state, or its socket; by default what `SINTONIA_NODE` names, for a task the
    /// daemon of the node that it runs on, else `sintonia/HOST` in `$XDG_STATE_HOME` or `~/.local/state`
    #[arg(long, value_name = "DIR")]
    node: Option<PathBuf>,
}

/// Which daemon is started or stopped.
#[derive(Args, Clone, Debug)]
pub(crate) struct StateOption {
    /// Folder of the daemon's state; by default `sintonia/HOST` in `$XDG_STATE_HOME` or `~/.local/state`
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Where a daemon is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What was said, by an option or the variable.
    path: Option<PathBuf>,
}

impl NodeOption {
    /// Where it is.
    pub(crate) fn place(&self) -> Place {
        let said = || variable(VARIABLE).or_else(|| variable(OF_TASK));
        Place { path: self.node.clone().or_else(said) }
    }
}

impl StateOption {
    /// Where it is to be.
    pub(crate) fn place(&self) -> Place {
        Place { path: self.state.clone() }
    }

    /// Where it is.
    pub(crate) fn running(&self) -> Place {
        Place { path: self.state.clone().or_else(|| variable(VARIABLE)) }
    }
}

impl Place {
    /// The folder of the daemon's state.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        let Some(path) = &self.path else {
            // A home may be shared by nodes.
            return Ok(default_state(&own_name(|name| env::var(name).ok()), |name| {
                env::var_os(name)
            })?);
        };
        let path = std::path::absolute(path).context("the daemon's folder is named by nothing")?;
        let is_socket = fs::metadata(&path).is_ok_and(|metadata| metadata.file_type().is_socket());
        Ok(if is_socket { path.with_file_name("") } else { path })
    }

    /// The socket at which the daemon hears clients.
    pub(crate) fn door(&self) -> anyhow::Result<PathBuf> {
        Ok(self.folder()?.join(SOCKET))
    }

    /// The words behind a command that name the same daemon, to be shown to people.
    pub(crate) fn words(&self, option: &str) -> String {
        let path = self.path.as_deref();
        path.map_or_else(String::new, |path| format!(" {option} {}", shown(path)))
    }
}

fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// This machine's name up to its first dot.
pub(crate) fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// What tells the number of a rank on its host, and how many there are: Open MPI, MPICH.
const RANKS: [[&str; 2]; 2] = [
    ["OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"],
    ["MPI_LOCALRANKID", "MPI_LOCALNRANKS"],
];

/// What a daemon is called that was given no name. A launcher may have started several on this host, as a trial.
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
        assert_eq!(shown(Path::new("/tmp/a-b_c.d")), "/tmp/a-b_c.d");
        assert_eq!(shown(Path::new("/tmp/it's")), r"'/tmp/it'\''s'");
    }
}
