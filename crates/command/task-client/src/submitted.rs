//! Sends a request that submits tasks, prints their names, and waits for them if that is asked for.

use crate::requests::{Daemon, unexpected};
use crate::tasks::wait::{Interruption, TaskOutput, Wait};
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer, TaskRange};

/// What a command does after its tasks were submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Afterwards<'a> {
    /// What is printed while the tasks are waited for; `None` if they are not.
    pub(crate) wait: Option<TaskOutput>,
    /// True to print JSON.
    pub(crate) json: bool,
    /// Command of the user that runs when the tasks have ended.
    pub(crate) on_end: Option<&'a str>,
}

impl Afterwards<'_> {
    /// Sends the request, and does what is to be done afterwards; returns the exit code.
    pub(crate) fn submit(
        self,
        daemon: Daemon,
        request: &ClientRequest,
    ) -> anyhow::Result<ExitCode> {
        self.submit_all(daemon, std::slice::from_ref(request))
    }

    /// Sends the requests, and does what is to be done afterwards; returns the exit code: 0 only if it is so for all.
    pub(crate) fn submit_all(
        self,
        mut daemon: Daemon,
        requests: &[ClientRequest],
    ) -> anyhow::Result<ExitCode> {
        let interruption = self.interruption(&daemon)?;
        let mut ranges = Vec::<TaskRange>::new();
        for request in requests {
            let answer = daemon.ask(request)?;
            let DaemonAnswer::Submitted { tasks } = answer else { return Err(unexpected(&answer)) };
            match ranges.last_mut() {
                Some(before) if before.last + 1 == tasks.first => before.last = tasks.last,
                _ => ranges.push(tasks),
            }
        }
        for tasks in &ranges {
            self.print_names(tasks)?;
        }
        self.wait_until_over(&daemon, interruption, ranges)
    }

    /// Waits for tasks that were submitted, if that is asked for; returns the exit code.
    pub(crate) fn wait_for(
        self,
        daemon: Daemon,
        ranges: Vec<TaskRange>,
    ) -> anyhow::Result<ExitCode> {
        let interruption = self.interruption(&daemon)?;
        self.wait_until_over(&daemon, interruption, ranges)
    }

    fn interruption(self, daemon: &Daemon) -> anyhow::Result<Option<Interruption>> {
        self.wait.map(|_| Interruption::catch(&daemon.location)).transpose()
    }

    fn wait_until_over(
        self,
        daemon: &Daemon,
        interruption: Option<Interruption>,
        ranges: Vec<TaskRange>,
    ) -> anyhow::Result<ExitCode> {
        let Some((interruption, output)) = interruption.zip(self.wait) else {
            return Ok(ExitCode::SUCCESS);
        };
        let n_ranges = ranges.len();
        let mut code = ExitCode::SUCCESS;
        for (idx, tasks) in ranges.into_iter().enumerate() {
            let on_end = self.on_end.filter(|_| idx + 1 == n_ranges);
            let client = Daemon::connect(daemon.location.clone())?.client;
            let ended = Wait { tasks, output, location: &daemon.location, on_end };
            let ended = ended.run(client, &interruption)?;
            code = if ended == ExitCode::SUCCESS { code } else { ended };
        }
        Ok(code)
    }

    /// Prints the names on standard output, unless that is reserved for the tasks' output.
    fn print_names(self, tasks: &TaskRange) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::json!({"tasks": tasks, "n_tasks": tasks.n_tasks()}).to_string()
        } else if self.wait.is_some() {
            return Ok(());
        } else {
            tasks.to_string()
        };
        user_io::print::result(&format!("{text}\n")).map(drop)
    }
}
