//! `sintonia rerun`: submits ended tasks again.

use crate::location::NodeOption;
use crate::requests::Daemon;
use crate::wait_options::WaitOptions;
use clap::Args;
use std::process::ExitCode;
use task_api::{ClientRequest, RerunSelection, TaskRange};
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia rerun alpha.17                         if it failed
  sintonia rerun alpha.1-1000 --wait              those of an array that failed, and wait for them
  sintonia rerun alpha.1-1000 --canceled          also those that were canceled, as by `--max-fails`
  sintonia rerun alpha.1-1000 --all --json | jq -r .tasks

The tasks are submitted as new ones, with new names, and with the command, folder, variables, limits
and array index of the old ones, at the same node; the old ones stay in the lists. Tasks that have not
ended are left out. Of tasks that ended long ago, the command is not kept (`node start --keep-tasks`).
Exit codes are those of `submit`; 109 also when there is nothing to run again.";

/// Submit tasks again that failed
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Tasks, as `submit` printed them
    #[arg(value_name = "TASK")]
    tasks: TaskRange,
    /// Only tasks that failed: with another exit code than 0, by a signal, not started, or lost too often; the default
    #[arg(long, conflicts_with_all = ["canceled", "all"])]
    failed: bool,
    /// Tasks that failed or were canceled
    #[arg(long, conflicts_with = "all")]
    canceled: bool,
    /// All tasks that have ended
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    node: NodeOption,
}

/// Submits the tasks again, and waits if that is asked for.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let which = match (options.all, options.canceled) {
        (true, _) => RerunSelection::All,
        (false, true) => RerunSelection::Unsuccessful,
        (false, false) => RerunSelection::Failed,
    };
    let request = ClientRequest::Rerun { tasks: options.tasks.clone(), which };
    let afterwards = options.wait.afterwards(true)?;
    afterwards.submit(Daemon::connect(options.node.location())?, &request)
}
