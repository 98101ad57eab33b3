//! `sintonia cancel`: ends tasks, on whatever node they are.

use crate::location::NodeOption;
use crate::requests::{Daemon, unexpected};
use clap::Args;
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer, TaskFilter, TaskRange, TaskState};
use user_io::exit::Refused;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia cancel alpha.17
  sintonia cancel alpha.17-1016 beta.3
  sintonia cancel --name sweep
  sintonia cancel --all                       all tasks that were submitted to this node

Tasks that wait are never started; those that run are asked to end (SIGTERM), with all processes of their
group, and killed 2 s later. Exit codes: 0 done, also when a task was over before; 108 no daemon answers;
109 it refuses, such as for a task that does not exist.";

/// End tasks, whether they wait or run
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Tasks, as `submit` printed them
    #[arg(value_name = "TASK", required_unless_present_any = ["name", "all"], conflicts_with_all = ["name", "all"])]
    tasks: Vec<TaskRange>,
    /// End all tasks of this name that were submitted to this node
    #[arg(long, conflicts_with = "all")]
    name: Option<String>,
    /// End all tasks that were submitted to this node
    #[arg(long)]
    all: bool,
    /// With `--name` and `--all`: node that the tasks were submitted to, instead of this one
    #[arg(long, value_name = "NODE", conflicts_with = "tasks")]
    home: Option<String>,
    /// Print the number of tasks that are ended as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
}

/// Ends tasks.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let mut daemon = Daemon::connect(options.node.location())?;
    let ranges = match &options.name {
        Some(name) => of_name(name, &mut daemon, options)?,
        None if options.all => {
            let home = options.home.clone();
            let home = home.unwrap_or_else(|| daemon.client.node().to_owned());
            vec![TaskRange { home, first: 1, last: u64::MAX }]
        }
        None => options.tasks.clone(),
    };
    let mut n_canceled = 0;
    for tasks in ranges {
        match daemon.ask(&ClientRequest::Cancel { tasks })? {
            DaemonAnswer::Canceled { n_tasks } => n_canceled += n_tasks,
            other => return Err(unexpected(&other)),
        }
    }
    let text = match (options.json, n_canceled) {
        (true, n) => serde_json::json!({"n_tasks": n}).to_string(),
        (false, 0) => "no task: all were over before".to_owned(),
        (false, 1) => "1 task is ended".to_owned(),
        (false, n) => format!("{n} tasks are ended"),
    };
    user_io::print::result(&format!("{text}\n"))
}

/// Tasks of this name that are not over, as the fewest ranges that hold exactly these tasks.
fn of_name(name: &str, daemon: &mut Daemon, options: &Options) -> anyhow::Result<Vec<TaskRange>> {
    let title = Some(name.to_owned());
    let filter = TaskFilter { home: options.home.clone(), title, ..TaskFilter::default() };
    let mut ranges: Vec<TaskRange> = Vec::new();
    let mut is_known = false;
    daemon.tasks(&filter, false, |tasks| {
        is_known |= !tasks.is_empty();
        for task in tasks.into_iter().filter(|task| task.state != TaskState::Ended) {
            match ranges.last_mut() {
                Some(range) if range.last + 1 == task.task.number => range.last += 1,
                _ => ranges.push(task.task.alone()),
            }
        }
        Ok(true)
    })?;
    if is_known {
        return Ok(ranges);
    }
    let sentence = format!("there is no task called `{name}`; `sintonia tasks` lists all tasks");
    Err(Refused.because(sentence).into())
}
