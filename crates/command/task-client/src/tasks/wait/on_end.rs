//! Command of the user that runs when all tasks that were waited for have ended.

use super::tally::Tally;
use std::process::{Command, ExitStatus, Stdio};
use task_api::TaskRange;

/// Variables in which the command finds how the tasks ended.
pub(crate) const VARIABLES: [&str; 6] = [
    "SINTONIA_TASKS",
    "SINTONIA_N_TASKS",
    "SINTONIA_N_SUCCEEDED",
    "SINTONIA_N_FAILED",
    "SINTONIA_N_CANCELED",
    "SINTONIA_EXIT_CODE",
];

/// Runs the command by the shell and waits for it; what it writes goes to standard error. Its own outcome changes
/// nothing but is told.
pub(super) fn run(command: &str, tasks: &TaskRange, tally: &Tally) {
    let n_succeeded = tally.n_ended - tally.n_failed - tally.n_canceled;
    let counts = [tally.n_tasks, n_succeeded, tally.n_failed, tally.n_canceled];
    let values = [tasks.to_string()].into_iter().chain(counts.map(|n| n.to_string()));
    let values = values.chain([tally.code().to_string()]);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).envs(VARIABLES.into_iter().zip(values));
    // Standard output is for the output of the tasks, or for JSON.
    shell.stdin(Stdio::null()).stdout(std::io::stderr());
    let failure = match shell.status() {
        Ok(status) if status.success() => return,
        Ok(status) => outcome(status),
        Err(error) => error.to_string(),
    };
    eprintln!("sintonia: the command of `--on-end` failed ({failure})");
}

fn outcome(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"))
}
