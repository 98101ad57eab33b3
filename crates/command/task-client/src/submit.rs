//! `sintonia submit`: hands commands over to the daemon of this node.

use crate::location::NodeOption;
use crate::requests::Daemon;
use crate::submitted::Afterwards;
use anyhow::{Context, anyhow};
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use task_api::{ArrayRange, ClientRequest, FailureRules, Submission, TaskLimits};
use user_io::exit::BadOption;
use user_io::option_value::seconds;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia submit -- ./simulate input.txt                 prints the task's name and returns
  sintonia submit --wait -- ./simulate input.txt          waits, prints what it wrote, ends with its exit code
  sintonia submit --array 1-1000 --name sweep --output out -- sh -c './simulate $SINTONIA_ARRAY_INDEX'
  sintonia submit --wait --array 1-100 --env OMP_NUM_THREADS=1 -- ./solve
  sintonia submit --array 1-500 --retry 3 --max-fails 20 -- ./fetch
  sintonia submit --json -- make test | jq -r .tasks

The command runs on any node, in the same folder, with the variables of this shell; nothing is copied.
Each task has `SINTONIA_TASK`, its name, and in an array `SINTONIA_ARRAY_INDEX`. A task whose node is
lost is started again elsewhere, so it may run more than once, though never at the same time.
With `--retry`, a task that ends with another code than 0 or by a signal waits and is tried again; a
command that cannot be started is not. `SINTONIA_INSTANCE` counts the starts of a task.
With `--wait`, Ctrl-C leaves the tasks running. Exit codes with `--wait`: the task's own, 128 + N when
signal N ended it, 127 when it could not be started, 130 when it was canceled; of an array 0 when all
tasks ended with 0, else 1. Without `--wait`: 0 when the tasks are on disk. 108: no daemon answers;
109: it refuses, and the message says why.";

/// Submit a command to run on a node with a free core
///
/// Returns when the task is safe on disk, whatever is killed afterwards; with `--wait`, when it has ended.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Options {
    /// A task for each index, from the first to the last
    #[arg(long, value_name = "FIRST-LAST", value_parser = array)]
    array: Option<ArrayRange>,
    /// Wait until all tasks have ended, and print the output of each as it ends
    #[arg(long)]
    wait: bool,
    /// Do not print the output of the tasks
    #[arg(long, requires = "wait", conflicts_with = "json")]
    quiet: bool,
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
    #[arg(long, value_name = "N", requires = "array")]
    max_fails: Option<u64>,
    /// Print JSON: a line with the names, and with `--wait` a line for each task that ends
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOption,
    /// The command, after `--`
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Submits the command, and waits if that is asked for.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let submission = submission(options).context(BadOption)?;
    submission.check().map_err(|error| anyhow!(error).context(BadOption))?;
    let daemon = Daemon::connect(options.node.location())?;
    let quiet = options.quiet || options.output.is_some();
    let afterwards = Afterwards { wait: options.wait, quiet, json: options.json };
    afterwards.submit(daemon, &ClientRequest::Submit { submission })
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
        environment: environment(options),
        array: options.array,
        limits,
        failures,
    })
}

/// Variables that describe a job or node in which this command happens to run, and not those of the task.
const FOREIGN: &str = "SINTONIA_TASK SINTONIA_ARRAY_INDEX SINTONIA_INSTANCE SINTONIA_KEEPER SINTONIA_KEEPER_RUN \
                       SINTONIA_NODE OLDPWD PWD SHLVL";
/// Variables that a command needs even without those of its shell.
const NEEDED: &str = "HOME LANG LOGNAME PATH SHELL TMPDIR USER";

/// Variables of the shell that are text, and those given by `--env`.
fn environment(options: &Options) -> Vec<(String, String)> {
    let is_wanted = |name: &str| {
        let is_among = |names: &str| names.split(' ').any(|other| other == name);
        let is_needed = !options.clean_env || is_among(NEEDED);
        is_needed && !is_among(FOREIGN) && options.env.iter().all(|(other, _)| other != name)
    };
    let mut pairs = Vec::new();
    for (name, value) in env::vars_os().filter(|(name, _)| is_wanted(&name.to_string_lossy())) {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => pairs.push((name, value)),
            (Ok(name), Err(_)) => warn_of(&name),
            (Err(name), _) => warn_of(&name.to_string_lossy()),
        }
    }
    pairs.extend(options.env.iter().cloned());
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

/// Makes a folder for output, if it does not exist.
fn made(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("the folder `{}` for `--output` cannot be made", path.display());
    std::fs::create_dir_all(path).with_context(failed)?;
    text(folder(path, "--output")?.into_os_string(), "folder")
}

fn array(text: &str) -> Result<ArrayRange, String> {
    let numbers = text.split_once('-').and_then(|(first, last)| {
        Some(ArrayRange { first: first.parse().ok()?, last: last.parse().ok()? })
    });
    numbers.ok_or_else(|| "write the first and the last index: 1-1000".to_owned())
}

fn variable(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "write NAME=VALUE".to_owned())
}
