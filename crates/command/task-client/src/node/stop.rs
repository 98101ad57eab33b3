//! `sintonia node stop`: makes the daemon leave the cluster and end.

use crate::location::StateOption;
use crate::requests;
use clap::Args;
use node_daemon::client_socket::Client;
use std::process::ExitCode;
use task_api::{Answer, Request};

const EXAMPLES: &str = "\
Examples:
  sintonia node stop                waits for the tasks that run here
  sintonia node stop --now          ends them: those of other nodes run elsewhere

Tasks that were submitted to this node and wait stay in its journal, and run when it is started again.
Exit codes: 0 the daemon has ended; 108 none answers.";

/// Take this node out of the cluster, and end its daemon
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StopOptions {
    /// End the tasks that run here instead of waiting for them
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    state: StateOption,
}

/// Stops the daemon, and waits until it has ended.
pub(super) fn stop(options: &StopOptions) -> anyhow::Result<ExitCode> {
    let location = options.state.running();
    let mut client = requests::connect(&location)?;
    let request = Request::Stop { now: options.now };
    match requests::ask(&mut client, &request, &location)? {
        Answer::Stopping { n_running: 0 } => {}
        Answer::Stopping { n_running } if options.now => {
            let tasks = display::units::plural(n_running, "running task");
            eprintln!("sintonia: ends {tasks}");
        }
        Answer::Stopping { n_running } => {
            eprintln!(
                "sintonia: waiting for {}; `sintonia node stop --now` ends them",
                display::units::plural(n_running, "task")
            );
        }
        other => return Err(requests::unexpected(&other)),
    }
    wait_for_end(client);
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end of the connection, which ends with the daemon.
fn wait_for_end(mut client: Client) {
    while client.next_answer().is_ok() {}
}
