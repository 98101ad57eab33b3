//! `sintonia malleable`: starts a launcher so that its program can be resized.

mod hosts_left;
mod policy;
mod progress;
mod restart;
mod stall;
mod trial;

use crate::control::UserControl;
use anyhow::Context;
use clap::Args;
use files::{Draft, host_name, private};
use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use user_io::option_value::time_ms;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia malleable -- mpiexec -n 2 ./cg --sizes 2:16
  sbatch --nodes=1 --wrap 'sintonia malleable -- mpiexec -n 8 ./cg --sizes 8:32'
  sintonia malleable --restart -- mpiexec -hosts a,b -n 4 ./cg --sizes 2:8 --checkpoint cg.state
  sintonia malleable --restart --stalled 10m -- mpiexec -n 4 ./cg --checkpoint cg.state

What is set, unless it is set already:
  Open MPI  OMPI_MCA_coll=^han, since collectives can hang when groups are joined; under Slurm
            PMIX_MCA_gds=hash, since ranks on further nodes share no memory with the launcher, and
            PMIX_MCA_ptl_tcp_if_include, PRTE_MCA_prte_if_include and OMPI_MCA_btl_tcp_if_include to
            the network of the nodes, since the launcher listens to its own node only otherwise
  MPICH     under Slurm HYDRA_LAUNCHER=ssh, and HYDRA_LAUNCHER_EXEC by which ranks get to further
            nodes: a script of ours that calls `srun`";

/// Start a malleable program, with the settings that its MPI library needs for that
///
/// The command replaces this program, unless it is to be restarted. Outside of Slurm the settings make little difference; under Slurm, a
/// program that was started without them cannot get further nodes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Only print the settings
    #[arg(long)]
    print: bool,
    /// Start the command again, at most N times (10), when its program dies: from its checkpoint,
    /// without hosts that do not answer; signals and the exit code are passed on
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    restart: Option<u32>,
    /// With --restart: end a program that has written no checkpoint for this time (10m), as it
    /// hangs, and start it again; longer than it takes between two checkpoints
    #[arg(long, value_name = "TIME", requires = "restart", value_parser = time_ms)]
    stalled: Option<u64>,
    /// The command, after `--`
    #[arg(required_unless_present = "print", last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Name by which the library recognizes that the launcher reaches nodes that join later.
const AGENT_NAME: &str = "sintonia-on-node";

/// Variable without which Open MPI's launcher accepts connections of its own node only.
const LISTENING: &str = "PMIX_MCA_ptl_tcp_if_include";

/// Script that MPICH's launcher calls for each node as it would call `ssh`: options, node, command.
///
/// A node of a companion job is found by that job's name; others belong to the job itself. `SIGTERM` is for the ranks: they
/// may leave, and a shell that ends by it would end their step.
const AGENT: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
node=$1
shift
job=$(squeue --noheader --states=RUNNING --name="sintonia-$SLURM_JOB_ID" --nodelist="$node" --format=%A | head -n 1)
exec srun --jobid="${job:-$SLURM_JOB_ID}" --nodelist="$node" --overlap --quiet --nodes=1 --ntasks=1 --mpi=none \
  --input=none --export=ALL sh -c "trap '' TERM; $*"
"#;

/// Returns whether a variable is set and not empty; programs treat an empty one as unset.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Replaces this process by the command.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let is_slurm = std::env::var_os("SLURM_JOB_ID").is_some();
    let agent = if is_slurm { Some(write_agent()?) } else { None };
    let network = is_slurm.then(network_of_this_job).flatten();
    if is_slurm && network.is_none() && !is_set(LISTENING) {
        eprintln!(
            "sintonia: no network that all nodes of the job share was found, and Open MPI 5 cannot grow without one; set \
             `{LISTENING}`, as in `{LISTENING}=10.1.0.0/16`"
        );
    }
    let variables = variables(agent.as_deref(), network);
    // If the user names networks to exclude, networks to include must not be set as well.
    let is_decided = |name: &str| {
        [name.to_owned(), name.replace("_include", "_exclude")].iter().any(|name| is_set(name))
    };
    let unset = variables.iter().filter(|(name, _)| !is_decided(name));
    if options.print {
        let lines = unset.map(|(name, value)| format!("export {name}='{value}'\n"));
        return user_io::print::result(&lines.collect::<String>());
    }
    if let Some(n_max) = options.restart {
        let stalled_after = options.stalled.map(Duration::from_millis);
        return restart::run(&options.command, unset.cloned().collect(), n_max, stalled_after);
    }
    let (program, arguments) = options.command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    let error = command.args(arguments).envs(unset.map(|(name, value)| (name, value))).exec();
    Ok(restart::not_started(program, &error).into())
}

fn variables(agent: Option<&Path>, network: Option<String>) -> Vec<(&'static str, String)> {
    let (name, value) = mpi_abi::OPEN_MPI_SETTINGS[0];
    let mut variables = vec![(name, value.to_owned())];
    if let Some(network) = network {
        let names = [LISTENING, "PRTE_MCA_prte_if_include", "OMPI_MCA_btl_tcp_if_include"];
        variables.extend(names.map(|name| (name, network.clone())));
    }
    if let Some(agent) = agent {
        variables.push(("PMIX_MCA_gds", "hash".to_owned()));
        variables.push(("HYDRA_LAUNCHER", "ssh".to_owned()));
        variables.push(("HYDRA_LAUNCHER_EXEC", agent.display().to_string()));
    }
    variables
}

/// Writes the agent beside the control folder, which all nodes see. Done each time, by renaming: another launcher may
/// be running it.
fn write_agent() -> anyhow::Result<PathBuf> {
    let control = UserControl::of(None)?;
    let folder = control.folder().parent().unwrap_or(control.folder()).to_owned();
    let path = folder.join(AGENT_NAME);
    let draft = Draft::at(&path, folder.join(format!("agent.{}", std::process::id())));
    let written = private::make_folder(&folder)
        .and_then(|()| draft.create(0o700)?.write_all(AGENT.as_bytes()))
        .and_then(|()| draft.publish());
    written.with_context(|| format!("`{}` cannot be written", path.display()))?;
    Ok(path)
}

/// A subnet: network and mask.
type Subnet = (u32, u32);

/// Subnet of this node's name, if all nodes of the job are in it: the setting applies to all of them.
fn network_of_this_job() -> Option<String> {
    let name = std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(host_name);
    let routes = std::fs::read_to_string("/proc/net/route").ok()?;
    let own = addresses(&name).into_iter().find_map(|address| subnet(&routes, address))?;
    let nodes = host_list::expand(&std::env::var("SLURM_JOB_NODELIST").ok()?).ok()?;
    let is_there = |node: &String| addresses(node).into_iter().any(|address| is_in(own, address));
    nodes.iter().all(is_there).then(|| subnet_in_words(own))
}

fn addresses(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map(|all| all.map(|address| address.ip()).collect()).unwrap_or_default()
}

fn is_in((network, mask): Subnet, address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.to_bits() & mask == network)
}

fn subnet_in_words((network, mask): Subnet) -> String {
    format!("{}/{}", Ipv4Addr::from_bits(network), mask.count_ones())
}

/// Subnet to which this node is directly connected and that holds the address; the smallest of several.
fn subnet(routes: &str, address: IpAddr) -> Option<Subnet> {
    let IpAddr::V4(address) = address else { return None };
    let found = routes.lines().filter_map(direct).filter(|(network, mask)| {
        !address.is_loopback() && address.to_bits() & mask == *network && *mask != 0
    });
    found.max_by_key(|(_, mask)| mask.count_ones())
}

/// Network and mask of a line of the kernel's routing table, if the route has no gateway: `eth0 0000000A 00000000 ...`,
/// in this machine's byte order.
fn direct(line: &str) -> Option<Subnet> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| {
        let word = words.get(at).filter(|word| word.len() == 8)?;
        u32::from_str_radix(word, 16).ok().map(u32::to_be)
    };
    (number(2)? == 0).then_some((number(1)?, number(7)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_of_companions_under_slurm_only() {
        let names = |agent: Option<&str>| {
            let network = agent.map(|_| "10.1.0.0/16".to_owned());
            let variables = variables(agent.map(Path::new), network);
            variables.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["OMPI_MCA_coll"]);
        let all = names(Some("/home/me/.sintonia/sintonia-on-node"));
        // Only tests set the network, and growth under Slurm waited for processes whose connections the launcher did
        // not accept.
        let of_openmpi = [LISTENING, "PMIX_MCA_gds", "OMPI_MCA_btl_tcp_if_include"];
        for name in of_openmpi.into_iter().chain(["HYDRA_LAUNCHER_EXEC"]) {
            assert!(all.contains(&name), "{name}: {all:?}");
        }
    }

    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\tFE004D0A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t00004D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
far\t0000140A\t01004D0A\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0
";

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        let found = subnet(ROUTES, address.parse().expect("an address"));
        assert_eq!(found.map(subnet_in_words).as_deref(), expected, "{address}");
    }

    #[test]
    fn nodes_elsewhere_are_told_from_neighbors() {
        let own = subnet(ROUTES, "10.77.0.1".parse().expect("an address")).expect("a subnet");
        let check = |address: &str, expected: bool| {
            assert_eq!(is_in(own, address.parse().expect("an address")), expected, "{address}");
        };
        check("10.77.0.200", true);
        check("10.77.1.1", false);
        check("fe80::1", false);
    }

    #[test]
    fn a_node_is_known_by_the_subnet_of_its_name() {
        check("10.77.0.1", Some("10.77.0.0/24"));
        check("172.17.3.4", Some("172.17.0.0/16"));
        check("10.20.0.1", None);
        check("127.0.1.1", None);
        check("fe80::1", None);
    }
}
