//! `sintonia hold` and `release`: keep tasks from starting, and let them start.

use crate::location::NodeOption;
use crate::requests::{Daemon, unexpected};
use clap::Args;
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer, TaskRange};
use user_io::terminal::Terminal;

const HOLD_EXAMPLES: &str = "\
Examples:
  sintonia hold alpha.17-1016
  sintonia submit --hold --array 1-100 -- ./solve         held from the beginning

Tasks that run, or are held already, are left as they are; so are tasks that another node has taken.
`sintonia release` lets them run. Exit codes: 0 done; 108 no daemon answers; 109 it refuses, such as for a
task that does not exist.";

const RELEASE_EXAMPLES: &str = "\
Examples:
  sintonia release alpha.17-1016
  sintonia release --anyway alpha.40                      also if it waits for others

Exit codes: 0 done; 108 no daemon answers; 109 it refuses, such as for a task that does not exist.";

/// Keep waiting tasks from starting
#[derive(Args, Debug)]
#[command(after_help = HOLD_EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    which: Which,
}

/// Tasks, and how to say what was done.
#[derive(Args, Debug)]
struct Which {
    /// Tasks, as `submit` printed them
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<TaskRange>,
    /// Print the number of tasks as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
}

/// Holds tasks.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    options.which.ask("held", |tasks| ClientRequest::Hold { tasks })
}

impl Which {
    fn ask(
        &self,
        done: &str,
        request: impl Fn(TaskRange) -> ClientRequest,
    ) -> anyhow::Result<ExitCode> {
        let mut daemon = Daemon::connect(self.node.location())?;
        let mut n_all = 0;
        for tasks in &self.tasks {
            match daemon.ask(&request(tasks.clone()))? {
                DaemonAnswer::Changed { n_tasks } => n_all += n_tasks,
                other => return Err(unexpected(&other)),
            }
        }
        let text = match (self.json, n_all) {
            (true, n) => serde_json::json!({"n_tasks": n}).to_string(),
            (false, 1) => format!("1 task is {done}"),
            (false, n) => format!("{n} tasks are {done}"),
        };
        user_io::print::result(&format!("{text}\n"))
    }
}

/// `sintonia release`.
pub mod release {
    use super::{Args, ClientRequest, ExitCode, RELEASE_EXAMPLES, Terminal, Which};

    /// Let held tasks start
    #[derive(Args, Debug)]
    #[command(after_help = RELEASE_EXAMPLES)]
    pub struct Options {
        /// Forget what the tasks wait for as well
        #[arg(long)]
        anyway: bool,
        #[command(flatten)]
        which: Which,
    }

    /// Releases tasks.
    pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
        let anyway = options.anyway;
        options.which.ask("released", |tasks| ClientRequest::Release { tasks, anyway })
    }
}
