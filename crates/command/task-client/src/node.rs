//! `sintonia node`: starts and stops the daemon of a node, and makes the key of a cluster.

mod background;
mod keeper;
mod key;
mod log;
mod network;
mod options;
mod start;
mod stop;
pub(crate) mod web;

use clap::{Args, Subcommand};
use std::process::ExitCode;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia node key ~/cluster.key                        once; copy it to the other nodes, or have it in a shared home
  sintonia node start --background --key ~/cluster.key --peers nodes.txt
  srun sintonia node start --slurm --key ~/cluster.key
  sintonia node start                                    this machine alone, until Ctrl-C
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
    Stop(stop::StopOptions),
    Key(key::KeyOptions),
    #[command(hide = true)]
    Keeper(keeper::KeeperOptions),
    #[command(hide = true)]
    Guard(keeper::KeeperOptions),
}

/// Starts or stops a daemon, or makes a key; also runs the processes beside a daemon.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    match &options.subcommand {
        NodeSubcommand::Start(options) => start::start(options),
        NodeSubcommand::Stop(options) => stop::stop(options),
        NodeSubcommand::Key(options) => key::make(options),
        NodeSubcommand::Keeper(options) => keeper::serve(options),
        NodeSubcommand::Guard(options) => keeper::guard(options),
    }
}
