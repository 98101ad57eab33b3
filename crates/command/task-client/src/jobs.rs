//! `sintonia jobs`: lists jobs with what became of their tasks, what they used, and what they could do with.

use crate::location::NodeOption;
use crate::requests::{Daemon, now_ms, unexpected};
use clap::Args;
use report::balance;
use std::process::ExitCode;
use task_api::{ClientRequest, DaemonAnswer, JobStatus};
use user_io::print::result;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia jobs
  sintonia jobs sweep                             one job, by its name or the name of one of its tasks
  sintonia jobs --open
  sintonia jobs --json | jq -r '.account.core_ms / 3600000'

A job is what was submitted at once, or under one `--job NAME`. `core-hours` is the time that its tasks
ran, times the cores that they had asked for; `used` is the part of it in which its processes computed.
Sentences say what could be asked for less. Only tasks that are kept one by one count
(`node start --keep-tasks`). Exit codes: 0 done; 108 no daemon answers; 109 there is no such job.";

/// List jobs: what became of their tasks, what they used, and what they had asked for
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Only the job with this name, or with this task
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// Only jobs with tasks that have not ended
    #[arg(long)]
    open: bool,
    /// Only the last N jobs [default: 50; all with `--json`]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Jobs that were submitted to this node
    #[arg(long, value_name = "NODE")]
    home: Option<String>,
    /// Print a line of JSON for each job
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
}

/// Default number of rows of the table.
const N_ROWS: usize = 50;

/// Lists jobs.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let mut daemon = Daemon::connect(options.node.location())?;
    let mut jobs = all(&mut daemon, options)?;
    jobs.retain(|job| !options.open || 0 < job.n_queued + job.n_running);
    if let Some(name) = &options.job {
        jobs.retain(|job| job.name == *name || holds_task(job, name));
        if jobs.is_empty() {
            let sentence = format!("there is no job `{name}`; `sintonia jobs` lists all");
            return Err(user_io::exit::Refused.because(sentence).into());
        }
    }
    let n_max = options.last.unwrap_or(if options.json { usize::MAX } else { N_ROWS });
    let n_all = jobs.len();
    jobs.drain(..n_all.saturating_sub(n_max));
    if options.json {
        for job in &jobs {
            result(&format!("{}\n", serde_json::to_string(job)?))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if jobs.is_empty() {
        eprintln!("sintonia: there are no such jobs");
        return Ok(ExitCode::SUCCESS);
    }
    result(&balance::jobs(&jobs, now_ms(), terminal.stdout_style()))?;
    if jobs.len() < n_all {
        eprintln!(
            "sintonia: these are the last {} of {n_all}; `--last {n_all}` shows all",
            jobs.len()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns whether this is the name of a task, or a range of tasks, that begins in the job.
fn holds_task(job: &JobStatus, name: &str) -> bool {
    let tasks = name.parse::<task_api::TaskRange>();
    tasks.is_ok_and(|tasks| tasks.home == job.tasks.home && job.tasks.holds(tasks.first))
}

fn all(daemon: &mut Daemon, options: &Options) -> anyhow::Result<Vec<JobStatus>> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let home = options.home.clone();
        match daemon.ask(&ClientRequest::Jobs { home, after })? {
            DaemonAnswer::Jobs { jobs, next } => {
                all.extend(jobs);
                if next.is_none() {
                    return Ok(all);
                }
                after = next;
            }
            other => return Err(unexpected(&other)),
        }
    }
}
