//! `sintonia explain`: says why a task is where it is.

use crate::location::NodeOption;
use crate::requests::{Daemon, now_ms, unexpected};
use clap::Args;
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer, TaskName};
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia explain alpha.17
  sintonia explain alpha.17 --json | jq -r '.because[]'

Shows what a task waits for, or why it runs where it runs, how its node stands, and what happened to it:
who was asked to take it, who did not and why, where it was started. Exit codes: 0 done; 108 no daemon
answers; 109 it refuses, such as for a task that does not exist.";

/// Explain why a task waits, or why it runs where it runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Task, as `submit` printed it
    task: TaskName,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
}

/// Asks the daemon for the explanation and prints it.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let mut daemon = Daemon::connect(options.node.location())?;
    let answer = daemon.ask(&ClientRequest::Explain { task: options.task.clone() })?;
    let DaemonAnswer::Explained { explanation } = answer else { return Err(unexpected(&answer)) };
    let text = match options.json {
        true => format!("{:#}\n", serde_json::to_value(&explanation)?),
        false => report::balance::explanation(&explanation, now_ms(), terminal.stdout_style()),
    };
    user_io::print::result(&text)
}
