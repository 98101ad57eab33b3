//! Turns options into the addresses of a daemon and of the other nodes of its cluster.

use super::key;
use crate::location::host;
use anyhow::Context;
use clap::Args;
use node_daemon::daemon::ClusterSettings;
use node_daemon::links::LinkOptions;
use node_daemon::members::PORT;
use std::env;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use user_io::bounded_read;
use user_io::exit::{BadOption, bad_option};
use user_io::print::warn;

/// Variable in which Slurm lists the nodes of a job.
const SLURM_LIST: &str = "SLURM_JOB_NODELIST";

/// Options for finding and reaching other nodes. Without any of these, the node is alone and accepts no connection.
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster")]
pub(super) struct NetworkOptions {
    /// File of the cluster's key; by default `sintonia/node.key` in `$XDG_CONFIG_HOME` or `~/.config`, which is made if
    /// there is none
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// File of nodes to join, with a line `HOST:PORT` or `HOST` for each; this one may be among them
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// Node to join, which knows the others; may be given several times
    #[arg(long, value_name = "HOST:PORT")]
    seed: Vec<String>,
    /// Join the nodes of this Slurm job (`SLURM_JOB_NODELIST`), which listen at the same port
    #[arg(long)]
    slurm: bool,
    /// Join all nodes that use this folder, which they share: each writes its address there
    #[arg(long, value_name = "DIR")]
    meet: Option<PathBuf>,
    /// Port for other nodes, 0 for any free one; by default 7411, with `--meet` any
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Address of this machine to listen at; by default all
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Host or address by which others reach this node; by default that of `--bind`, or the host's name
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
}

impl NetworkOptions {
    /// Network settings of the daemon; `None` if it is alone.
    pub(super) fn network(&self) -> anyhow::Result<Option<ClusterSettings>> {
        if !self.is_wanted() {
            return Ok(None);
        }
        let usual = if self.meet.is_some() { 0 } else { PORT };
        let port = self.port.unwrap_or(usual);
        let bind = self.bind.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        Ok(Some(ClusterSettings {
            listen: SocketAddr::new(bind, port),
            host: self.host(bind),
            key: key::read(self.key.as_deref())?,
            peers: self.peers(port)?,
            meeting: self.meet.clone(),
            links: LinkOptions::default(),
        }))
    }

    fn is_wanted(&self) -> bool {
        let is_joined =
            self.peers.is_some() || !self.seed.is_empty() || self.slurm || self.meet.is_some();
        is_joined || self.port.is_some() || self.bind.is_some() || self.advertise.is_some()
    }

    /// Host or address by which other nodes reach this one.
    fn host(&self, bind: IpAddr) -> String {
        match (&self.advertise, bind) {
            (Some(host), _) => host.clone(),
            (None, bind) if bind.is_unspecified() => host(),
            (None, IpAddr::V6(bind)) => format!("[{bind}]"),
            (None, IpAddr::V4(bind)) => bind.to_string(),
        }
    }

    /// Addresses of nodes to join; that of this node may be among them.
    fn peers(&self, port: u16) -> anyhow::Result<Vec<String>> {
        let seeds = self.seed.iter().map(|seed| with_port(seed));
        let mut peers = seeds.collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(path) = &self.peers {
            let text = bounded_read::read_text(path, bounded_read::WRITTEN_BYTES_MAX);
            let path = path.display();
            let text = text.with_context(|| format!("cannot read the peers `{path}`; write an address to a line, `host` or `host:port`"));
            let (listed, problems) = host_list::peers(&text.context(BadOption)?, PORT);
            problems.iter().for_each(|problem| warn(&problem.to_string()));
            peers.extend(listed);
        }
        if self.slurm {
            let list = env::var(SLURM_LIST).ok().filter(|list| !list.is_empty());
            let list = list.ok_or_else(|| {
                bad_option(format!("`{SLURM_LIST}` is not set: `--slurm` is for daemons that Slurm starts, as by `srun sintonia node start --slurm`"))
            })?;
            let hosts = host_list::expand(&list).context(BadOption)?;
            peers.extend(hosts.iter().map(|host| format!("{host}:{port}")));
        }
        Ok(peers)
    }
}

/// Address of a seed, with its port.
fn with_port(seed: &str) -> anyhow::Result<String> {
    host_list::peer_address(seed, PORT).ok_or_else(|| {
        bad_option(format!(
            "`--seed {seed}` is not an address: write HOST:PORT, an address of IPv6 in brackets"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_the_usual_port_unless_it_names_one() {
        let seeds = ["node1", "node1:99", "[::1]:99", "fd00::2", "[fd00::2]"];
        let expected = ["node1:7411", "node1:99", "[::1]:99", "[fd00::2]:7411", "[fd00::2]:7411"];
        assert_eq!(seeds.map(|seed| with_port(seed).unwrap()), expected);
        for bad in ["node1:x", ":99", "node1:70000"] {
            let error = with_port(bad).unwrap_err();
            assert!(format!("{error:#}").contains(bad), "{error:#}");
        }
    }
}
