//! `sintonia node`: starts and stops the daemon of a node, and makes the key of a cluster.

mod auto;
mod deploy;
mod key;
mod leave;
mod log;
mod network;
mod options;
mod start;
pub(crate) mod web;

use crate::location::{NodeOption, StateOption};
use crate::requests::{Daemon, unexpected};
use clap::{Args, Subcommand};
use display::units::plural;
use node_daemon::keeper;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer};
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia node key ~/cluster.key                        once; copy it to the other nodes, or have it in a shared home
  sintonia node start --background --key ~/cluster.key --peers nodes.txt
  srun sintonia node start --slurm --key ~/cluster.key
  sintonia node start                                    this machine alone, until Ctrl-C
  sintonia node auto --slurm --max 20 --idle 5m          Slurm jobs with daemons when tasks wait
  sintonia node deploy 'node[1-4]'                       daemons on other hosts, over ssh
  sintonia node stop";

/// Share out independent commands over nodes: the daemon of a node
///
/// With a daemon on each node, commands may be submitted on any of them; they run where there is room.
/// `sintonia submit` hands them over; `nodes` and `tasks` show how they progress.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    subcommand: NodeSubcommand,
}

#[derive(Debug, Subcommand)]
enum NodeSubcommand {
    Start(Box<options::StartOptions>),
    Stop(StopOptions),
    Auto(Box<auto::AutoOptions>),
    Deploy(Box<deploy::DeployOptions>),
    Key(key::KeyOptions),
    #[command(hide = true)]
    Keeper(KeeperOptions),
    #[command(hide = true)]
    Guard(KeeperOptions),
}

/// Starts or stops a daemon, or makes a key; also runs the processes beside a daemon.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    match &options.subcommand {
        NodeSubcommand::Start(options) => start::start(options),
        NodeSubcommand::Stop(options) => stop(options),
        NodeSubcommand::Auto(options) => auto::run(options, terminal),
        NodeSubcommand::Deploy(options) => deploy::deploy(options),
        NodeSubcommand::Key(options) => key::make(options),
        NodeSubcommand::Keeper(options) => serve_keeper(options),
        NodeSubcommand::Guard(options) => guard_keeper(options),
    }
}

const STOP_EXAMPLES: &str = "\
Examples:
  sintonia node stop                waits for the tasks that run here
  sintonia node stop --now          ends them: those of other nodes run elsewhere
  sintonia node stop --node node2   the daemon on another host

Tasks that were submitted to this node and wait stay in its journal, and run when it is started again.
Exit codes: 0 the daemon has ended; 108 none answers.";

/// Take this node out of the cluster, and end its daemon
#[derive(Args, Debug)]
#[command(after_help = STOP_EXAMPLES)]
struct StopOptions {
    /// End the tasks that run here instead of waiting for them
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    state: StateOption,
    #[command(flatten)]
    node: NodeOption,
}

/// Stops the daemon, and waits until it has ended.
fn stop(options: &StopOptions) -> anyhow::Result<ExitCode> {
    let named = options.node.named();
    let mut daemon = Daemon::connect(named.unwrap_or_else(|| options.state.running()))?;
    match daemon.ask(&ClientRequest::Stop { now: options.now })? {
        DaemonAnswer::Stopping { n_running: 0 } => {}
        DaemonAnswer::Stopping { n_running } if options.now => {
            eprintln!("sintonia: ends {}", plural(n_running, "running task"));
        }
        DaemonAnswer::Stopping { n_running } => {
            let tasks = plural(n_running, "task");
            eprintln!("sintonia: waiting for {tasks}; `sintonia node stop --now` ends them");
        }
        other => return Err(unexpected(&other)),
    }
    // The connection ends with the daemon.
    while daemon.client.next_answer().is_ok() {}
    Ok(ExitCode::SUCCESS)
}

/// Hold the tasks of a daemon; started by it
#[derive(Args, Debug)]
struct KeeperOptions {
    /// Folder of the daemon's state
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
}

/// Keeps tasks until the keeper is no longer needed.
fn serve_keeper(options: &KeeperOptions) -> anyhow::Result<ExitCode> {
    let guard = keeper_words("guard", &options.state);
    keeper::serve(keeper::KeeperOptions::new(options.state.clone(), guard))?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end of a keeper; kills the tasks of one that was killed.
fn guard_keeper(options: &KeeperOptions) -> anyhow::Result<ExitCode> {
    keeper::guard(&options.state);
    Ok(ExitCode::SUCCESS)
}

/// Arguments of this program that start a keeper or a guard.
fn keeper_words(name: &str, state: &Path) -> Vec<OsString> {
    ["node", name, "--state"].map(OsString::from).into_iter().chain([state.into()]).collect()
}
