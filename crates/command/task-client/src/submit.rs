//! `sintonia submit`: hands commands over to the daemon of this node.

mod items;
pub(crate) mod wishes;

use crate::location::NodeOption;
use crate::requests::Daemon;
use crate::tasks::wait::ON_END;
use crate::wait_options::WaitOptions;
use anyhow::{Context, anyhow};
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use task_api::{ArrayIndices, ClientRequest, FailureRules, Submission, TaskLimits};
use user_io::exit::BadOption;
use user_io::option_value::seconds;
use user_io::terminal::Terminal;
use wishes::{OrderOptions, ResourceOptions, TimeOptions};

const EXAMPLES: &str = "\
Examples:
  sintonia submit -- ./simulate input.txt                 prints the task's name and returns
  sintonia submit --wait -- ./simulate input.txt          waits, prints what it wrote, ends with its exit code
  sintonia submit --array 1-1000 --name sweep --output out -- sh -c './simulate $SINTONIA_ARRAY_INDEX'
  sintonia submit --follow -- ./simulate input.txt        prints what it writes while it runs
  sintonia submit --wait --array 1-100 --env OMP_NUM_THREADS=1 -- ./solve
  sintonia submit --wait --quiet --array 1-100 --on-end 'notify-send $SINTONIA_N_FAILED' -- ./solve
  sintonia submit --array 1-500 --retry 3 --max-fails 20 -- ./fetch
  sintonia submit --cpus 4 --memory 8G --time-limit 2h -- ./solve big.in
  sintonia submit --nodes 2 --cpus 8 -- mpirun ./solve big.in                 16 ranks on two nodes
  sintonia submit --variant gpus=1 --variant cpus=8 -- ./train           a GPU, or else 8 cores
  ls *.png | sintonia submit --wait --each-line - -- convert {} {}.jpg
  sintonia submit --after-ok alpha.1-500 --priority 5 -- ./collect
  sintonia submit --json -- make test | jq -r .tasks

The command runs on any node, in the same folder, with the variables of this shell; nothing is copied.
Each task has `SINTONIA_TASK`, its name, and in an array `SINTONIA_ARRAY_INDEX`. Words of an array's
command, and `--output`, may hold `%{index}`, `%{item}`, `%{task}` and `%{cpus}`. A task whose node is
lost is started again elsewhere, so it may run more than once, though never at the same time.
With `--retry`, a task that ends with another code than 0 or by a signal waits and is tried again; a
command that cannot be started is not. `SINTONIA_INSTANCE` counts the starts of a task.
With `--wait`, Ctrl-C leaves the tasks running. Exit codes with `--wait`: the task's own, 128 + N when
signal N ended it, 124 at its time limit, 127 when it could not be started, 130 when it was canceled,
137 at its memory limit; of an array 0 when all tasks ended with 0, else 1. Without `--wait`: 0 when the tasks are on disk. 108: no daemon answers;
109: it refuses, and the message says why.";

/// Submit a command to run on a node with a free core
///
/// Returns when the task is safe on disk, whatever is killed afterwards; with `--wait`, when it has ended.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// A task for each index: `1-1000`, with steps `0-90:10`, or as a list `1-5,8`
    #[arg(long, value_name = "INDICES")]
    array: Option<ArrayIndices>,
    /// A task for each line of this file, `-` for standard input: `{}` in the command stands for the line, which is also
    /// in `SINTONIA_ITEM`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["array", "from_json"])]
    each_line: Option<PathBuf>,
    /// A task for each value of this JSON array, or of a file with a value on each line; otherwise as `--each-line`
    #[arg(long, value_name = "FILE", conflicts_with = "array")]
    from_json: Option<PathBuf>,
    #[command(flatten)]
    wait: WaitOptions,
    /// Name of the tasks in lists; by default the command's name
    #[arg(long)]
    name: Option<String>,
    /// Folder in which the command runs; by default this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Variable for the command, in addition to those of this shell; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Pass on none of this shell's variables except `HOME`, `LANG`, `LOGNAME`, `PATH`, `SHELL`, `TMPDIR` and `USER`
    #[arg(long)]
    clean_env: bool,
    /// Write all output into files `TASK.out` and `TASK.err` in this folder, on the node that runs the task
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Most bytes kept of each of a task's two outputs; the rest is dropped and counted
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 10)]
    output_max: u32,
    /// Most times that a task is started again when its node is lost
    #[arg(long, alias = "retries", value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(..1_000_000))]
    restarts: u32,
    /// Most times that a task is tried again after it failed: ended with another code than 0, or by a signal
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..1_000_000))]
    retry: u32,
    /// Time before a task is tried again; it doubles each time, up to 300 s
    #[arg(long, value_name = "SECONDS", default_value = "1", requires = "retry", value_parser = |text: &str| seconds(text, 0.0..=300.0))]
    retry_delay: f64,
    /// Cancel the rest of the array, what waits and what runs, when more than N of its tasks have failed for good
    #[arg(long, value_name = "N")]
    max_fails: Option<u64>,
    #[command(flatten)]
    resources: ResourceOptions,
    #[command(flatten)]
    times: TimeOptions,
    #[command(flatten)]
    order: OrderOptions,
    #[command(flatten)]
    node: NodeOption,
    /// The command, after `--`
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Submits the command, and waits if that is asked for.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let submissions = submissions(options).context(BadOption)?;
    for submission in &submissions {
        submission.check().map_err(|error| anyhow!(error).context(BadOption))?;
    }
    let afterwards = options.wait.afterwards(options.output.is_none())?;
    let daemon = Daemon::connect(options.node.location())?;
    let requests = submissions
        .into_iter()
        .map(|submission| ClientRequest::Submit { submission: Box::new(submission) });
    afterwards.submit_all(daemon, &requests.collect::<Vec<_>>())
}

/// The submission, or several where its texts do not fit into one.
fn submissions(options: &Options) -> anyhow::Result<Vec<Submission>> {
    let one = submission(options)?;
    let is_one =
        options.array.is_none() && options.each_line.is_none() && options.from_json.is_none();
    if is_one && (options.max_fails.is_some() || one.schedule.n_at_once_max.is_some()) {
        return Err(anyhow!(
            "`--max-fails` and `--at-once` bound the tasks of an array: add `--array`, `--each-line` or `--from-json`"
        ));
    }
    let items = match (&options.each_line, &options.from_json) {
        (Some(path), _) => items::lines(path)?,
        (None, Some(path)) => items::values(path)?,
        (None, None) => return Ok(vec![one]),
    };
    let command = items::with_item(one.command.clone());
    let parts = items::parts(items);
    if 1 < parts.len()
        && (one.failures.n_fails_max.is_some() || one.schedule.n_at_once_max.is_some())
    {
        return Err(anyhow!(
            "{} submissions are needed for so many texts, and `--max-fails` and `--at-once` hold for one: put the texts into \
             files, and submit an array",
            parts.len()
        ));
    }
    let mut next = 1;
    let parts = parts.into_iter().map(|items| {
        let (first, n_items) = (next, items.len() as u64);
        next += n_items;
        let array = Some(ArrayIndices::range(first, next - 1));
        Submission { command: command.clone(), items, array, ..one.clone() }
    });
    Ok(parts.collect())
}

fn submission(options: &Options) -> anyhow::Result<Submission> {
    let here = || env::current_dir().context("this folder is gone: name another one with `--cwd`");
    let cwd = options.cwd.as_deref().map_or_else(here, |cwd| folder(cwd, "--cwd"))?;
    let output_folder = options.output.as_deref().map(made).transpose()?;
    let command = options.command.iter().map(|word| text(word.clone(), "command"));
    let limits = TaskLimits {
        output_bytes_max: options.output_max,
        output_folder,
        n_starts_max: options.restarts.saturating_add(1),
    };
    let delay_ms = Duration::from_secs_f64(options.retry_delay).as_millis();
    let failures = FailureRules {
        n_retries_max: options.retry,
        retry_delay_ms: u64::try_from(delay_ms).unwrap_or(u64::MAX),
        n_fails_max: options.max_fails,
    };
    Ok(Submission {
        command: command.collect::<Result<_, _>>()?,
        name: options.name.clone(),
        folder: text(cwd.into_os_string(), "folder")?,
        environment: environment(options.clean_env, &options.env),
        array: options.array.clone(),
        items: Vec::new(),
        limits,
        failures,
        demand: options.resources.demand(&options.times),
        schedule: options.order.schedule(),
    })
}

/// Variables that describe a job or node in which this command happens to run, and not those of the task.
const FOREIGN: &str = "SINTONIA_TASK SINTONIA_ARRAY_INDEX SINTONIA_ITEM SINTONIA_CPUS SINTONIA_CORES SINTONIA_GPUS \
                       SINTONIA_NODES SINTONIA_HOSTS SINTONIA_HOST_FILE OMPI_MCA_orte_default_hostfile \
                       PRTE_MCA_prte_default_hostfile HYDRA_HOST_FILE \
                       SINTONIA_MEMORY SINTONIA_VARIANT SINTONIA_INSTANCE SINTONIA_KEEPER SINTONIA_KEEPER_RUN \
                       SINTONIA_NODE OLDPWD PWD SHLVL";
/// Beginning of those that tell a task its pieces of resources.
const OF_RESOURCES: &str = "SINTONIA_RESOURCE_";
/// Variables that a command needs even without those of its shell.
const NEEDED: &str = "HOME LANG LOGNAME PATH SHELL TMPDIR USER";

/// Variables of the shell that are text, and those given by `--env`.
pub(crate) fn environment(is_clean: bool, more: &[(String, String)]) -> Vec<(String, String)> {
    let is_wanted = |name: &str| {
        let is_among = |names: &str| names.split(' ').any(|other| other == name);
        let is_needed = !is_clean || is_among(NEEDED);
        let is_foreign =
            is_among(FOREIGN) || name.starts_with(OF_RESOURCES) || ON_END.contains(&name);
        is_needed && !is_foreign && more.iter().all(|(other, _)| other != name)
    };
    let mut pairs = Vec::new();
    for (name, value) in env::vars_os().filter(|(name, _)| is_wanted(&name.to_string_lossy())) {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => pairs.push((name, value)),
            (Ok(name), Err(_)) => warn_of(&name),
            (Err(name), _) => warn_of(&name.to_string_lossy()),
        }
    }
    pairs.extend(more.iter().cloned());
    pairs
}

fn warn_of(name: &str) {
    eprintln!("sintonia: the variable `{name}` is not passed on: it is not UTF-8");
}

fn text(words: OsString, what: &str) -> anyhow::Result<String> {
    words.into_string().map_err(|words| {
        anyhow!(
            "the {what} `{}` is not UTF-8: give it another name, or call it from a script",
            words.display()
        )
    })
}

fn folder(path: &Path, option: &str) -> anyhow::Result<PathBuf> {
    let found = std::fs::canonicalize(path);
    found.with_context(|| format!("there is no folder `{}` for `{option}`", path.display()))
}

/// Text of a folder that exists.
pub(crate) fn folder_text(path: &Path) -> anyhow::Result<String> {
    text(folder(path, "folder")?.into_os_string(), "folder")
}

/// Makes a folder for output, if it does not exist.
fn made(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("the folder `{}` for `--output` cannot be made", path.display());
    std::fs::create_dir_all(path).with_context(failed)?;
    text(folder(path, "--output")?.into_os_string(), "folder")
}

fn variable(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "write NAME=VALUE".to_owned())
}
