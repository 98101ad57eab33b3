//! Options of `sintonia node start`.
#![allow(rustdoc::broken_intra_doc_links, reason = "help texts have optional parts in brackets")]

use super::leave::LeaveOptions;
use super::network::NetworkOptions;
use crate::location::StateOption;
use crate::submit::wishes::resource;
use balancing_policies::{Domain, Rule};
use clap::Args;
use node_daemon::journal::Durability;
use node_daemon::measure::SpeedBy;
use std::net::SocketAddr;
use user_io::option_value::{bytes, one_of, seconds, time_ms, within};

const EXAMPLES: &str = "\
Examples:
  sintonia node start                                          this machine alone
  sintonia node start --background --port 7411                 the first node of a cluster
  sintonia node start --background --seed node1                a further one
  sintonia node start --peers nodes.txt --policy event --domain overlapping:4
  srun --ntasks-per-node=1 sintonia node start --slurm         all nodes of a Slurm job
  mpirun --bind-to none sintonia node start --meet ~/meet      one for each rank
  sintonia node start --web 8080                               with a page and figures for Prometheus
  sintonia node start --gpus 4 --resource fpga=2               tasks may ask for these

All nodes of a cluster have the same key, which others cannot read: `sintonia node key` makes it, and in
a home that the nodes share it is found by all. Their messages are encrypted with it. Only the user
who started a daemon can submit to it, ask it or stop it.
Ctrl-C or SIGTERM: it takes no further tasks and leaves when those that run have ended; the second time
it ends them. Tasks that wait are in the journal and run when the daemon is started again with the
same `--state`. Exit codes: 0 it has left; 2 an option is wrong; 108 it could not start, or failed.";

/// Run the daemon of this node
///
/// Takes commands from `sintonia submit`, runs them here or on other nodes that have room, and runs commands of other
/// nodes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StartOptions {
    /// Run in the background; returns when the daemon answers. Its messages are in `node.log` of its folder
    #[arg(long)]
    pub(super) background: bool,
    /// Set in the process that runs in the background.
    #[arg(long, hide = true, conflicts_with = "background")]
    pub(super) detached: bool,
    /// Name of the node in the cluster; by default that of the host, with the number of the rank if a launcher starts
    /// several on a host
    #[arg(long, value_name = "NODE")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) state: StateOption,
    #[command(flatten)]
    pub(super) network: NetworkOptions,
    #[command(flatten)]
    pub(super) rules: RuleOptions,
    #[command(flatten)]
    pub(super) node: CapacityOptions,
    /// Serve a web page and Prometheus' `/metrics`; by default at 127.0.0.1, and at any free port.
    /// `sintonia nodes --web` prints the address with its key
    #[arg(long, value_name = "[ADDRESS:]PORT", num_args = 0..=1, default_missing_value = "0", value_parser = web)]
    pub(super) web: Option<SocketAddr>,
    #[command(flatten)]
    pub(super) leave: LeaveOptions,
}

/// Options for balancing tasks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Balancing")]
pub(super) struct RuleOptions {
    /// Rule by which nodes learn of each other's load: periodic:SECONDS, event, on-demand, subscription,
    /// forwarding[:HOPS], adaptive[:MIN:MAX], power-of-two[:PROBES] or stealing; the same on all nodes
    #[arg(long, value_name = "RULE", default_value = "subscription", value_parser = |text: &str| text.parse::<Rule>())]
    pub(super) policy: Rule,
    /// Nodes that balance with each other: global, overlapping:SIZE[:OVERLAP] or random:SIZE
    #[arg(long, value_name = "DOMAIN", default_value = "global", value_parser = |text: &str| text.parse::<Domain>())]
    pub(super) domain: Domain,
    /// Lease: time for which another node may run a task after its home stopped answering; after that, the task is run
    /// elsewhere
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = |text: &str| seconds(text, 1.0..=86_400.0))]
    pub(super) lease: f64,
}

/// Options for the node's capacity and the safety of its journal.
#[derive(Args, Debug)]
#[command(next_help_heading = "Node")]
pub(super) struct CapacityOptions {
    /// Tasks that run at the same time; by default the cores that this process may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) cores: Option<u32>,
    /// Memory that tasks may ask for; by default that of the machine, or of this control group
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(super) memory: Option<u64>,
    /// GPUs that tasks may ask for; by default those that the drivers of NVIDIA and AMD list
    #[arg(long, value_name = "N")]
    pub(super) gpus: Option<u32>,
    /// Other resource that tasks may ask for (`submit --resource`); may be given several times
    #[arg(long, value_name = "NAME=N", value_parser = resource)]
    pub(super) resource: Vec<(String, u32)>,
    /// Time after which the daemon ends what runs, which is then run elsewhere, and leaves; tasks that ask for more
    /// (`submit --time-request`) are not started here. In a Slurm job its end counts for them by itself
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    pub(super) ends_in: Option<u64>,
    /// Speed of a core, with 1 for an ordinary one; by default measured at the start
    #[arg(long, value_name = "X", value_parser = |text: &str| within(text, 0.001..=1000.0))]
    pub(super) speed: Option<f64>,
    /// Method that measures the speed
    #[arg(long, default_value = "calibration", value_parser = one_of(&SPEED_BY), conflicts_with = "speed")]
    pub(super) speed_by: SpeedBy,
    /// Sync of the journal to disk before a submission is answered: for each record, for the records of some
    /// milliseconds together, or when the system decides, which loses tasks if the machine loses power
    #[arg(long, default_value = "batch", value_parser = one_of(&FSYNC))]
    pub(super) fsync: Durability,
    /// Ended tasks that are kept with their times and output; of all others, only the outcome is kept
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(super) keep_tasks: usize,
    /// Most bytes that are kept of the output of ended tasks; the oldest output is dropped, and counted
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(super) keep_output: usize,
    /// Longest time for which ended tasks are kept with their times and output, such as 7d [default: any]
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    pub(super) keep_for: Option<u64>,
}

/// Ways to measure a core.
const SPEED_BY: [(&str, &str, SpeedBy); 2] = [
    ("calibration", "Work of fixed size", SpeedBy::Calibration),
    ("bogomips", "The kernel's delay loop, as the source had it", SpeedBy::Bogomips),
];

/// Ways to sync the journal.
const FSYNC: [(&str, &str, Durability); 3] = [
    ("always", "Each record", Durability::Always),
    ("batch", "Records of some milliseconds together", Durability::Batch),
    ("never", "When the system decides", Durability::Never),
];

fn web(text: &str) -> Result<SocketAddr, String> {
    let port = || Some(SocketAddr::from(([127, 0, 0, 1], text.parse().ok()?)));
    let address = text.parse().ok().or_else(port);
    address.ok_or_else(|| "write PORT or ADDRESS:PORT: 8080, 127.0.0.1:8080, [::1]:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_for_this_machine_unless_an_address_is_named() {
        assert_eq!(web("8080"), Ok(SocketAddr::from(([127, 0, 0, 1], 8080))));
        assert_eq!(web("0.0.0.0:80"), Ok(SocketAddr::from(([0, 0, 0, 0], 80))));
        assert_eq!(web("[::1]:80").map(|address| address.is_ipv6()), Ok(true));
        assert!(web("localhost").is_err() && web("70000").is_err());
    }
}
