//! Sends a request that submits tasks, prints their names, and waits for them if that is asked for.

use crate::requests::{Daemon, unexpected};
use crate::tasks::wait::{Interruption, TaskOutput, Wait};
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer, TaskRange};

/// What a command does after its tasks were submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Afterwards {
    /// True to wait until the tasks have ended.
    pub(crate) wait: bool,
    /// True to print none of their output.
    pub(crate) quiet: bool,
    /// True to print JSON.
    pub(crate) json: bool,
}

impl Afterwards {
    /// Sends the request, and does what is to be done afterwards; returns the exit code.
    pub(crate) fn submit(
        self,
        mut daemon: Daemon,
        request: &ClientRequest,
    ) -> anyhow::Result<ExitCode> {
        let interruption = match self.wait {
            true => Some(Interruption::catch(&daemon.location)?),
            false => None,
        };
        let answer = daemon.ask(request)?;
        let DaemonAnswer::Submitted { tasks } = answer else { return Err(unexpected(&answer)) };
        self.print_names(&tasks)?;
        let Some(interruption) = interruption else { return Ok(ExitCode::SUCCESS) };
        let output = match (self.json, self.quiet) {
            (true, _) => TaskOutput::Json,
            (false, true) => TaskOutput::Nothing,
            (false, false) => TaskOutput::Output,
        };
        Wait { tasks, output, location: &daemon.location }.run(daemon.client, &interruption)
    }

    /// Prints the names on standard output, unless that is reserved for the tasks' output.
    fn print_names(self, tasks: &TaskRange) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::json!({"tasks": tasks, "n_tasks": tasks.n_tasks()}).to_string()
        } else if self.wait {
            return Ok(());
        } else {
            tasks.to_string()
        };
        user_io::print::result(&format!("{text}\n")).map(drop)
    }
}
