//! `sintonia tasks`: lists tasks, shows one, or waits for some.

pub(crate) mod wait;

use crate::location::NodeOption;
use crate::requests::{Daemon, now_ms, unexpected};
use clap::Args;
use report::balance;
use std::process::ExitCode;
use task_api::{
    ClientRequest, DaemonAnswer, EndedTask, OutcomeFilter, OutcomeRange, OutcomeSummary,
    TaskFilter, TaskName, TaskRange, TaskState, TaskStatus,
};
use user_io::option_value::one_of;
use user_io::print::{escape_line, result};
use user_io::terminal::Terminal;
use wait::{Interruption, TaskOutput, Wait};

const EXAMPLES: &str = "\
Examples:
  sintonia tasks                                  the last hundred of this node
  sintonia tasks --state running
  sintonia tasks --failed                         what failed, and the last line that each wrote
  sintonia tasks --name sweep --failed --json | jq -r '.task + \" \" + .why'
  sintonia tasks alpha.17                         one task, with what it wrote
  sintonia tasks alpha.17 --json | jq -r .output.stdout
  sintonia tasks alpha.17 --follow                what it writes, while it runs
  sintonia tasks alpha.1-1000 --grep 'not converged'
  sintonia tasks alpha.1-1000 --wait              wait for tasks that were submitted before
  nohup sintonia tasks alpha.1-1000 --wait --on-end ./plot.sh >log 2>&1 &

States: `queued` and `offered` wait, `running` runs where it was submitted, `leased` is held by the node
that is named, `ended` is over. Of these, `failed` are tasks with another exit code than 0, ended by a
signal, not started or lost; `lost` are those whose node was lost too often. JSON is one line for
each task; of tasks that ended long ago, one with `is_brief` for each range that ended alike
(`node start --keep-tasks`). Exit codes of `--wait` are those of
`submit --wait`; 108: no daemon answers; 109: it refuses, such as for a task that does not exist.";

/// List tasks, show one with its output, or wait for some
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Options {
    /// One task, or several with consecutive numbers, as `submit` printed them; by default all of this node
    #[arg(value_name = "TASK")]
    tasks: Option<TaskRange>,
    /// List only tasks in this state, or that ended so
    #[arg(long, value_parser = one_of(&STATES))]
    state: Option<Selected>,
    /// List only tasks that failed, each with the reason: `--state failed`
    #[arg(long, conflicts_with = "state")]
    failed: bool,
    /// List only tasks of this name
    #[arg(long)]
    name: Option<String>,
    /// List only tasks that were submitted to this node
    #[arg(long, value_name = "NODE", conflicts_with = "tasks")]
    home: Option<String>,
    /// List only the last N of these [default: 100; all with `--json`]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// List only tasks of this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Print the lines with this text in what these tasks wrote, as far as that is kept, each with the name of its task
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    /// Wait until the tasks have ended, and print the output of each as it ends
    #[arg(long, requires = "tasks", conflicts_with_all = ["state", "failed", "name", "job", "grep", "last"])]
    wait: bool,
    /// Wait, and print what the tasks write while they run; of several tasks, each line with the name of its task
    #[arg(long, short = 'f', requires = "tasks", conflicts_with_all = ["state", "failed", "name", "job", "grep", "last", "json"])]
    follow: bool,
    /// With `--wait` or `--follow`: shell command that runs when all tasks have ended, as for `submit`
    #[arg(long, value_name = "COMMAND", requires = "tasks")]
    on_end: Option<String>,
    /// Print a line of JSON for each task
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
}

/// Selection of tasks by their state, or by their outcome.
#[derive(Clone, Copy, Debug)]
enum Selected {
    State(TaskState),
    Outcome(OutcomeFilter),
}

/// States and outcomes of a task, as they are written.
const STATES: [(&str, &str, Selected); 9] = [
    ("queued", "", Selected::State(TaskState::Queued)),
    ("offered", "", Selected::State(TaskState::Offered)),
    ("leased", "", Selected::State(TaskState::Leased)),
    ("running", "", Selected::State(TaskState::Running)),
    ("ended", "", Selected::State(TaskState::Ended)),
    ("succeeded", "", Selected::Outcome(OutcomeFilter::Succeeded)),
    ("failed", "", Selected::Outcome(OutcomeFilter::Failed)),
    ("canceled", "", Selected::Outcome(OutcomeFilter::Canceled)),
    ("lost", "", Selected::Outcome(OutcomeFilter::Lost)),
];

impl Options {
    fn selected(&self) -> Option<Selected> {
        self.failed.then_some(Selected::Outcome(OutcomeFilter::Failed)).or(self.state)
    }

    fn filter(&self) -> TaskFilter {
        let (state, outcome) = match self.selected() {
            None => (None, None),
            Some(Selected::State(state)) => (Some(state), None),
            Some(Selected::Outcome(outcome)) => (None, Some(outcome)),
        };
        let (home, tasks) = (self.home.clone(), self.tasks.clone());
        let (title, job, output_has) = (self.name.clone(), self.job.clone(), self.grep.clone());
        TaskFilter { home, tasks, state, outcome, title, job, output_has, ..TaskFilter::default() }
    }
}

/// Default number of rows of the table.
const N_ROWS: usize = 100;

/// Lists tasks, shows one, or waits.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let daemon = Daemon::connect(options.node.location())?;
    match &options.tasks {
        Some(tasks) if options.wait || options.follow => {
            let output = match (options.follow, options.json) {
                (true, _) => TaskOutput::Followed,
                (false, true) => TaskOutput::Json,
                (false, false) => TaskOutput::Output,
            };
            let (tasks, on_end) = (tasks.clone(), options.on_end.as_deref());
            let wait = Wait { tasks, output, location: &daemon.location, on_end };
            wait.run(daemon.client, &Interruption::catch(&daemon.location)?)
        }
        Some(tasks)
            if tasks.first == tasks.last
                && options.selected().is_none()
                && options.grep.is_none() =>
        {
            let name = TaskName { home: tasks.home.clone(), number: tasks.first };
            show(&name, daemon, options, terminal)
        }
        _ => list(daemon, options, terminal),
    }
}

fn list(mut daemon: Daemon, options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let filter = options.filter();
    if options.json && options.last.is_none() {
        return list_all_as_json(daemon, &filter);
    }
    let n_max = options.last.unwrap_or(if options.grep.is_some() { usize::MAX } else { N_ROWS });
    let mut last = Vec::new();
    // One more than is shown tells that there are more.
    let past = daemon.tasks(&filter, true, |tasks| {
        last.extend(tasks);
        Ok(last.len() <= n_max)
    })?;
    let has_more = n_max < last.len();
    last.truncate(n_max);
    last.reverse();
    if let Some(text) = &options.grep {
        return grep(&last, text, &mut daemon, options.json);
    }
    if options.json {
        last.iter().try_for_each(write_json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(past) = &past {
        let (n_tasks, outcomes) = (past.n_tasks, past.sentence());
        eprintln!(
            "sintonia: for {n_tasks} earlier tasks only the outcome is kept: {outcomes}; `sintonia node start --keep-tasks N` keeps more"
        );
    }
    if last.is_empty() && past.is_none() {
        eprintln!("sintonia: there are no such tasks");
        return Ok(ExitCode::SUCCESS);
    }
    result(&balance::tasks(&last, now_ms(), terminal.stdout_style()))?;
    if has_more {
        eprintln!("sintonia: these are the last {n_max}; `--last N` shows more");
    }
    Ok(ExitCode::SUCCESS)
}

fn list_all_as_json(mut daemon: Daemon, filter: &TaskFilter) -> anyhow::Result<ExitCode> {
    let past = daemon.tasks(filter, false, |tasks| {
        tasks.iter().try_for_each(write_json)?;
        Ok(true)
    })?;
    let home = filter.home.as_deref().or(filter.tasks.as_ref().map(|it| it.home.as_str()));
    let home = home.unwrap_or_else(|| daemon.client.node());
    past.iter().try_for_each(|it| write_past(it, home))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the lines with this text that the tasks wrote; of a terminal's control characters none.
fn grep(
    tasks: &[TaskStatus],
    text: &str,
    daemon: &mut Daemon,
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut n_lines = 0;
    for TaskStatus { task, .. } in tasks {
        let ended = match daemon.ask(&ClientRequest::Result { task: task.clone() })? {
            DaemonAnswer::Ended { tasks, .. } => tasks.into_iter().next(),
            other => return Err(unexpected(&other)),
        };
        let Some(output) = ended.and_then(|ended| ended.output) else { continue };
        for (stream, bytes) in [("stdout", &output.stdout.0), ("stderr", &output.stderr.0)] {
            let written = String::from_utf8_lossy(bytes);
            let lines = written.lines().enumerate().filter(|(_, line)| line.contains(text));
            for (idx, line) in lines {
                n_lines += 1;
                let line_text = match is_json {
                    true => {
                        let json = serde_json::json!({"task": task, "stream": stream, "line": idx + 1, "text": line});
                        format!("{json}\n")
                    }
                    false => format!("{task}: {}\n", escape_line(line)),
                };
                result(&line_text)?;
            }
        }
    }
    if n_lines == 0 {
        eprintln!("sintonia: no task that has ended wrote `{text}`, as far as output is kept");
    }
    Ok(if n_lines == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(
    name: &TaskName,
    mut daemon: Daemon,
    options: &Options,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let filter = TaskFilter { tasks: Some(name.alone()), ..TaskFilter::default() };
    let mut status = None;
    daemon.tasks(&filter, false, |tasks| {
        status = tasks.into_iter().next();
        Ok(false)
    })?;
    let found = match daemon.ask(&ClientRequest::Result { task: name.clone() })? {
        DaemonAnswer::Ended { tasks, .. } => tasks.into_iter().next(),
        other => return Err(unexpected(&other)),
    };
    let Some(status) = status else {
        return show_brief(name, found.as_ref(), options);
    };
    if options.json {
        let mut json = serde_json::to_value(&status)?;
        json["output"] = serde_json::to_value(found.and_then(|task| task.output))?;
        return result(&format!("{json}\n"));
    }
    let style = terminal.stdout_style();
    result(&match found {
        Some(task) => balance::ended(name, &task, style),
        None => balance::tasks(&[status], now_ms(), style),
    })
}

/// Shows a task that ended so long ago that only its outcome is kept.
fn show_brief(
    name: &TaskName,
    found: Option<&EndedTask>,
    options: &Options,
) -> anyhow::Result<ExitCode> {
    let Some(EndedTask { outcome, .. }) = found else {
        let sentence = format!(
            "unknown task `{name}`: it may have ended long ago; `sintonia tasks` lists the known tasks"
        );
        return Err(user_io::exit::Refused.because(sentence).into());
    };
    result(&match options.json {
        true => {
            let state = TaskState::Ended;
            let json = serde_json::json!({"task": name, "state": state, "outcome": outcome, "is_brief": true});
            format!("{json}\n")
        }
        false => format!(
            "{name}  {outcome}; it ended long ago; only its outcome is kept (`sintonia node start --keep-tasks N` keeps more)\n"
        ),
    })
}

/// Prints a line for each range of tasks that ended alike, and one for those of which only counts are kept.
fn write_past(past: &OutcomeSummary, home: &str) -> anyhow::Result<()> {
    let mut n_tasks = past.n_tasks;
    for OutcomeRange { first, last, outcome } in &past.runs {
        let tasks = TaskRange { home: home.to_owned(), first: *first, last: *last };
        n_tasks = n_tasks.saturating_sub(tasks.n_tasks());
        let json = serde_json::json!({
            "task": tasks, "n_tasks": tasks.n_tasks(), "state": TaskState::Ended, "outcome": outcome, "is_brief": true,
        });
        result(&format!("{json}\n"))?;
    }
    if 0 < n_tasks {
        let json = serde_json::json!({
            "n_tasks": n_tasks, "state": TaskState::Ended, "all_outcomes": past.outcomes, "is_brief": true,
        });
        result(&format!("{json}\n"))?;
    }
    Ok(())
}

fn write_json(task: &TaskStatus) -> anyhow::Result<()> {
    result(&format!("{}\n", serde_json::to_string(task)?)).map(drop)
}
