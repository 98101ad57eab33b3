//! `sintonia submit-file`: submits the tasks of a job file, with what they wait for.

mod entries;
mod place;

use crate::location::NodeOption;
use crate::requests::{Daemon, unexpected};
use crate::submit::{environment, folder_text};
use crate::submitted::Afterwards;
use crate::wait_options::WaitOptions;
use anyhow::{Context, anyhow};
use clap::Args;
use entries::{JobFile, TaskEntry};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use task_api::{
    ClientRequest, DaemonAnswer, Dependency, DependencyKind, N_SUBMIT_MAX, Submission, TaskRange,
};
use user_io::exit::BadOption;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia submit-file pipeline.toml
  sintonia submit-file pipeline.toml --wait
  sintonia submit-file --check pipeline.toml              only says whether it can be submitted
  sintonia simulate jobs pipeline.toml --nodes 4 --cores 16      says how long it will take
  make-graph | sintonia submit-file - --json | jq -r .solve

A job file, in TOML or JSON:

  name = \"pipeline\"
  [[task]]
  id = \"prepare\"
  command = [\"./prepare\", \"input.txt\"]
  [[task]]
  id = \"solve\"
  command = [\"./solve\", \"%{index}\"]
  array = \"1-100\"
  cpus = \"2-4\"
  memory = \"4G\"
  time_limit = \"30m\"
  after_ok = [\"prepare\"]

Keys of a task are those of the options of `submit`, with `_`: array, items, name, folder, environment, cpus,
nodes, memory, gpus, resources, variants, no_pin, time_limit, time_request, expect, priority, hold, at_once, after, after_ok,
after_any, after_failed, after_each, retry, retry_delay, max_fails, restarts, output. Keys before the
first task: name, the job; folder, by default that of the file; environment, priority and hold, for
all tasks. A command may be one text, which a shell runs. Tasks are waited for by their `id`, wherever
in the file, or by their name, as `submit` printed it.
With `--json` the names are an object, by `id`.
Exit codes are those of `submit`; 2 when the file is wrong.";

/// Submit the tasks of a job file
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Job file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only check the file
    #[arg(long, conflicts_with_all = ["wait", "follow", "json"])]
    check: bool,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    node: NodeOption,
}

/// Tasks of a job file that wait only for each other.
#[derive(Clone, Debug)]
pub struct GraphEntry {
    /// Its `id`, or its place in the file.
    pub name: String,
    /// What is submitted; what it waits for is in `after`.
    pub submission: Submission,
    /// Places of entries before it that it waits for, what has to become of them, and whether each task waits just for the
    /// one at the same place.
    pub after: Vec<(usize, DependencyKind, bool)>,
}

/// Reads the entries of a job file, in an order in which each comes behind all that it waits for.
pub fn graph(path: &Path) -> anyhow::Result<Vec<GraphEntry>> {
    let (text, folder) = read(path).context(BadOption)?;
    let file = JobFile::parse(&text, path).context(BadOption)?;
    let order = file.order(&text, path).context(BadOption)?;
    let base = Submission { folder: folder_text(&folder)?, ..Submission::default() };
    let places = order
        .iter()
        .enumerate()
        .filter_map(|(place, idx)| Some((file.task[*idx].id.as_deref()?, place)));
    let places = places.collect::<BTreeMap<_, _>>();
    let entry = |&idx: &usize| -> anyhow::Result<GraphEntry> {
        let entry = &file.task[idx];
        let told = || place::told(&text, path, entry.id.as_deref());
        let submission = file.submission(entry, &base).with_context(told)?;
        submission.check().with_context(told)?;
        let after = entry.waits_for().map(|(name, when, is_each)| match places.get(name) {
            Some(place) => Ok((*place, when, is_each)),
            None => Err(anyhow!("it waits for `{name}`, which is not in the file")),
        });
        let after = after.collect::<Result<Vec<_>, _>>().with_context(told)?;
        Ok(GraphEntry { name: name_of(idx, entry), submission, after })
    };
    order.iter().map(entry).collect::<anyhow::Result<Vec<_>>>().context(BadOption)
}

fn name_of(idx: usize, entry: &TaskEntry) -> String {
    entry.id.clone().unwrap_or_else(|| format!("task {}", idx + 1))
}

/// Submits the tasks, and waits if that is asked for.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let (text, folder) = read(&options.file).context(BadOption)?;
    let file = JobFile::parse(&text, &options.file).context(BadOption)?;
    let order = file.order(&text, &options.file).context(BadOption)?;
    let folder = file.folder.as_ref().map_or_else(|| folder.clone(), |it| folder.join(it));
    let base = Submission {
        folder: folder_text(&folder)?,
        environment: environment(false, &file.environment.clone().into_iter().collect::<Vec<_>>()),
        ..Submission::default()
    };
    let ready = |entry: &TaskEntry| file.submission(entry, &base);
    let tasks = order.iter().map(|&idx| {
        let entry = &file.task[idx];
        let told = || place::told(&text, &options.file, entry.id.as_deref());
        let submission = ready(entry).and_then(|it| Ok(it.check().map(|()| it)?));
        Ok((entry, submission.with_context(told)?))
    });
    let tasks = tasks.collect::<anyhow::Result<Vec<_>>>().context(BadOption)?;
    if options.check {
        let n_tasks = tasks.iter().map(|(_, submission)| submission.n_tasks()).sum::<u64>();
        let path = options.file.display();
        return user_io::print::result(&format!(
            "`{path}` can be submitted: {n_tasks} tasks in {} entries\n",
            tasks.len()
        ));
    }
    let afterwards = options.wait.afterwards(true)?;
    let mut daemon = Daemon::connect(options.node.location())?;
    let submitted = submit(&tasks, &mut daemon)?;
    print_names(&file, &submitted, afterwards)?;
    afterwards.wait_for(daemon, submitted.ranges())
}

/// Most entries that one which can be submitted may pass.
const N_AHEAD: usize = 64;

/// Names of the tasks of each entry, in the order of submission.
struct Submitted<'a>(Vec<(&'a TaskEntry, TaskRange)>);

impl Submitted<'_> {
    /// Ranges of all tasks.
    fn ranges(&self) -> Vec<TaskRange> {
        let mut ranges = Vec::<TaskRange>::new();
        for (_, tasks) in &self.0 {
            match ranges.last_mut() {
                Some(before) if before.last + 1 == tasks.first => before.last = tasks.last,
                _ => ranges.push(tasks.clone()),
            }
        }
        ranges
    }
}

/// Submits the tasks in order, several at once where they do not wait for each other: so the disk is waited for less
/// often. Cancels those before when one is refused.
fn submit<'a>(
    tasks: &[(&'a TaskEntry, Submission)],
    daemon: &mut Daemon,
) -> anyhow::Result<Submitted<'a>> {
    let mut submitted = Submitted(Vec::new());
    let mut by_id = BTreeMap::<&str, TaskRange>::new();
    let mut sent = VecDeque::<&TaskEntry>::new();
    let mut left = tasks.iter().collect::<VecDeque<_>>();
    let ids = tasks.iter().filter_map(|(entry, _)| entry.id.as_deref()).collect::<HashSet<_>>();
    loop {
        let is_ready = |(entry, _): &&(&TaskEntry, Submission)| {
            let is_named = |name: &str| !ids.contains(name) || by_id.contains_key(name);
            sent.len() < N_SUBMIT_MAX && entry.waits_for().all(|(name, ..)| is_named(name))
        };
        let next = left.iter().take(N_AHEAD).position(is_ready).and_then(|idx| left.remove(idx));
        let said = if let Some((entry, submission)) = next {
            sent.push_back(entry);
            let mut submission = submission.clone();
            submission.schedule.after = entry.dependencies(&by_id)?;
            let request = ClientRequest::Submit { submission: Box::new(submission) };
            daemon.say(&request)
        } else if let Some(entry) = sent.pop_front() {
            match daemon.next_answer() {
                Ok(DaemonAnswer::Submitted { tasks }) => {
                    if let Some(id) = entry.id.as_deref() {
                        by_id.insert(id, tasks.clone());
                    }
                    submitted.0.push((entry, tasks));
                    Ok(())
                }
                other => {
                    sent.push_front(entry);
                    other.and_then(|answer| Err(unexpected(&answer)))
                }
            }
        } else {
            return Ok(submitted);
        };
        if let Err(error) = said {
            return Err(take_back(error, submitted, &sent, daemon));
        }
    }
}

/// Cancels what was submitted, since the first of the entries that were `sent` is not taken.
fn take_back<'a>(
    error: anyhow::Error,
    mut submitted: Submitted<'a>,
    sent: &VecDeque<&'a TaskEntry>,
    daemon: &mut Daemon,
) -> anyhow::Error {
    let n_before = submitted.0.len();
    // The entries behind it may have been taken.
    for entry in sent.iter().skip(1) {
        if let Ok(DaemonAnswer::Submitted { tasks }) = daemon.next_answer() {
            submitted.0.push((entry, tasks));
        }
    }
    for tasks in submitted.ranges() {
        daemon.ask(&ClientRequest::Cancel { tasks }).ok();
    }
    let what = sent.front().and_then(|entry| entry.id.as_deref()).unwrap_or("a task without `id`");
    error.context(format!(
        "`{what}` is not taken, and the {n_before} entries before it are canceled"
    ))
}

fn print_names(
    file: &JobFile,
    submitted: &Submitted<'_>,
    afterwards: Afterwards<'_>,
) -> anyhow::Result<()> {
    let names = file.task.iter().enumerate().filter_map(|(idx, entry)| {
        let tasks = submitted.0.iter().find(|(other, _)| std::ptr::eq(*other, entry))?;
        Some((name_of(idx, entry), tasks.1.clone()))
    });
    if afterwards.json {
        let names = names.map(|(name, tasks)| (name, serde_json::json!(tasks)));
        let json = serde_json::Value::Object(names.collect());
        return user_io::print::result(&format!("{json}\n")).map(drop);
    }
    if afterwards.wait.is_some() {
        return Ok(());
    }
    let lines = names.map(|(name, tasks)| format!("{name} {tasks}\n"));
    user_io::print::result(&lines.collect::<String>()).map(drop)
}

/// Text of the file, and the folder that it is in.
fn read(path: &Path) -> anyhow::Result<(String, PathBuf)> {
    if path.as_os_str() == "-" {
        let text = std::io::read_to_string(std::io::stdin());
        let here = std::env::current_dir().context("this folder is gone: go to another one")?;
        return Ok((text.context("standard input cannot be read")?, here));
    }
    let failed = || format!("the job file `{}` cannot be read", path.display());
    let text = std::fs::read_to_string(path).with_context(failed)?;
    let folder = std::fs::canonicalize(path).with_context(failed)?;
    Ok((text, folder.parent().unwrap_or(Path::new("/")).to_owned()))
}

impl TaskEntry {
    /// What the tasks of the entry wait for; entries that they name have been submitted.
    fn dependencies(&self, by_id: &BTreeMap<&str, TaskRange>) -> anyhow::Result<Vec<Dependency>> {
        let named = |name: &str| -> anyhow::Result<TaskRange> {
            match by_id.get(name) {
                Some(tasks) => Ok(tasks.clone()),
                None => Ok(name.parse::<TaskRange>()?),
            }
        };
        let all = self
            .waits_for()
            .map(|(name, when, is_each)| Ok(Dependency { tasks: named(name)?, when, is_each }));
        all.collect()
    }
}
