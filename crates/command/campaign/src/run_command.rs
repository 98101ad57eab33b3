//! One run: a process of `sintonia` that watches the command and ends with the experiment.

use clap::Args;
use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, set_parent_process_death_signal,
};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use user_io::terminal::Terminal;

const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time for a command to end in order after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// A run of an experiment; started by `sintonia experiment`
#[derive(Args, Debug)]
#[group(skip)]
pub struct Options {
    #[command(flatten)]
    run: watch::run::Options,
}

/// Runs and watches a command, and ends it when the experiment is killed.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    // If this fails, the command of a killed experiment goes on and harms only the next run.
    set_parent_process_death_signal(Some(Signal::TERM)).ok();
    watch::run::run(&options.run, terminal)
}

/// Run that is to be started.
#[derive(Debug)]
pub(super) struct RunCommand {
    pub(super) words: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    /// Folder in which the command runs.
    pub(super) home: PathBuf,
    /// Folder for the record.
    pub(super) record: PathBuf,
    /// File for what the command prints.
    pub(super) output: PathBuf,
    pub(super) functions: Vec<String>,
    pub(super) timeout: Duration,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The command ended by itself.
    Itself(ExitStatus),
    /// The command took too long.
    TooLong,
    /// A signal to this process ended it.
    Interrupted,
}

impl RunCommand {
    /// Runs the command; `signal` holds the signal that this process received, or 0.
    pub(super) fn run(&self, signal: &AtomicUsize) -> io::Result<RunEnd> {
        let mut child = self.start()?;
        let (started, mut asked) = (Instant::now(), None);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(asked.map_or(RunEnd::Itself(status), |(ended, _)| ended));
            }
            match asked {
                None if signal.load(Ordering::Relaxed) != 0 => {
                    asked = Some((RunEnd::Interrupted, Instant::now()));
                    kill_process(Pid::from_child(&child), Signal::INT).ok();
                }
                None if self.timeout < started.elapsed() => {
                    asked = Some((RunEnd::TooLong, Instant::now()));
                    kill_process(Pid::from_child(&child), Signal::TERM).ok();
                }
                Some((_, since)) if GRACE < since.elapsed() => {
                    kill_process_group(Pid::from_child(&child), Signal::KILL).ok();
                }
                _ => {}
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Starts it in a process group of its own: Ctrl-C reaches this process alone, which passes it on once.
    fn start(&self) -> io::Result<Child> {
        let output = File::create(&self.output)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("experiment-run").arg("--out").arg(&self.record).args(["--quiet", "--no-html"]);
        if !self.functions.is_empty() {
            // Only single passages tell in which region a function ran.
            command.arg("--trace");
            command.args(self.functions.iter().map(|name| format!("--probe={name}")));
        }
        command.arg("--").args(&self.words).envs(self.variables.iter().cloned());
        command.current_dir(&self.home).process_group(0).stdin(Stdio::null());
        command.stderr(output.try_clone()?).stdout(output).spawn()
    }
}

/// Status in words: `exit code 3`, `signal 9`.
pub(super) fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}
