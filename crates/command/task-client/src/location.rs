//! Finds a daemon: the folder of one on this machine, or the address of one on another.

use crate::cluster_key;
use anyhow::Context;
use clap::Args;
use node_daemon::client_socket::{Client, ClientError, SOCKET, default_state};
use node_daemon::members::PORT;
use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use user_io::exit::Refused;

/// Variable in which users name a daemon that has a folder of its own.
const VARIABLE: &str = "SINTONIA_NODE";
/// Variable in which a task finds the daemon of the node that it runs on.
const OF_TASK: &str = "SINTONIA_KEEPER";

/// Options for the daemon that is asked.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeOption {
    /// Folder of the daemon's state, or its socket, or the address of a daemon on another host; by default the one that
    /// `SINTONIA_NODE` names, in a task that of the node it runs on, else `sintonia/HOST` in `$XDG_STATE_HOME` or
    /// `~/.local/state`
    #[arg(long, value_name = "DIR|HOST[:PORT]")]
    node: Option<PathBuf>,
    /// With an address: file of the cluster's key; by default `sintonia/node.key` in `$XDG_CONFIG_HOME` or `~/.config`
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
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
    /// Path or address that an option or a variable names.
    path: Option<PathBuf>,
    /// File of the key for a daemon on another host.
    key: Option<PathBuf>,
}

impl NodeOption {
    /// Location of the daemon that the option names.
    pub(crate) fn named(&self) -> Option<DaemonLocation> {
        let path = self.node.clone()?;
        Some(DaemonLocation { path: Some(path), key: self.key.clone() })
    }

    /// Location of the daemon that is asked.
    pub(crate) fn location(&self) -> DaemonLocation {
        let from_variables = || variable(VARIABLE).or_else(|| variable(OF_TASK));
        let path = self.node.clone().or_else(from_variables);
        DaemonLocation { path, key: self.key.clone() }
    }
}

impl StateOption {
    /// Location of a daemon that is started.
    pub(crate) fn location(&self) -> DaemonLocation {
        DaemonLocation { path: self.state.clone(), key: None }
    }

    /// Location of a daemon that runs.
    pub(crate) fn running(&self) -> DaemonLocation {
        DaemonLocation { path: self.state.clone().or_else(|| variable(VARIABLE)), key: None }
    }
}

impl DaemonLocation {
    /// Connects to the daemon.
    pub(crate) fn connect(&self) -> anyhow::Result<Result<Client, ClientError>> {
        Ok(match self.address() {
            Some(address) => Client::connect_to(&address, &cluster_key::read(self.key.as_deref())?),
            None => Client::connect(&self.folder()?.join(SOCKET)),
        })
    }

    /// Address of a daemon on another host: what is named, if it is no path.
    pub(crate) fn address(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        let text = path.to_str().filter(|text| !text.contains('/') && !path.exists())?;
        host_list::peer_address(text, PORT)
    }

    /// Folder of the daemon's state.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        if let Some(address) = self.address() {
            let why = format!("`{address}` is a daemon on another host: run this command there");
            return Err(Refused.because(why).into());
        }
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

    /// Options behind a command that name the same daemon, to be shown to users.
    pub(crate) fn words(&self, option: &str) -> String {
        let word = |option: &str, path: &Path| format!(" {option} {}", shell_quoted(path));
        let path = self.path.as_deref().map(|path| word(option, path));
        let key = self.key.as_deref().map(|key| word("--key", key));
        [path, key].into_iter().flatten().collect()
    }
}

/// Path as one word of a shell's command line.
pub(crate) fn shell_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.:".contains(&byte));
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
    fn what_is_no_path_is_an_address() {
        let check = |text: &str, expected: Option<&str>| {
            let location = DaemonLocation { path: Some(text.into()), key: None };
            assert_eq!(location.address().as_deref(), expected, "{text}");
        };
        check("node1", Some("node1:7411"));
        check("node1:99", Some("node1:99"));
        check("[::1]:99", Some("[::1]:99"));
        check("./node1", None);
        check("/tmp", None);
        check("src", None);
        check("node1:x", None);
    }

    #[test]
    fn a_path_is_shown_as_a_shell_reads_it() {
        assert_eq!(shell_quoted(Path::new("/tmp/a-b_c.d")), "/tmp/a-b_c.d");
        assert_eq!(shell_quoted(Path::new("/tmp/it's")), r"'/tmp/it'\''s'");
    }
}
