//! Waits for tasks: prints their output as they end, the progress, and a summary.
//!
//! # Invariants
//! - Ending the wait leaves the tasks as they are.
//! - If the daemon is restarted meanwhile, it is asked again; the end of each task is printed once.

mod followed_output;
mod follower;
mod on_end;
mod progress;
mod tally;

use crate::location::DaemonLocation;
use crate::requests;
use anyhow::Context;
use follower::Follower;
use node_daemon::client_socket::{Client, ClientError};
use progress::Progress;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tally::Tally;
use task_api::{ClientRequest, DaemonAnswer, EndedTask, TaskName, TaskOutcome, TaskRange};
use user_io::exit::NotWritten;
use user_io::print::escape_line;

pub(crate) use on_end::VARIABLES as ON_END;

/// Longest time for a daemon to come back.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(60);
/// Longest time for the names of tasks to arrive when the wait is interrupted before.
const NAMED_WITHIN: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Number of failures that are printed one by one.
const N_FAILURES_TOLD: u64 = 10;

/// Kinds of output about tasks that end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOutput {
    /// Output of the tasks.
    Output,
    /// Output of the tasks, while they run.
    Followed,
    /// A line of JSON for each task.
    Json,
    /// Nothing.
    Nothing,
}

impl TaskOutput {
    fn is_printed(self) -> bool {
        matches!(self, Self::Output | Self::Followed)
    }
}

/// Tasks that are waited for.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) tasks: TaskRange,
    pub(crate) output: TaskOutput,
    pub(crate) location: &'a DaemonLocation,
    /// Command of the user that runs when all have ended.
    pub(crate) on_end: Option<&'a str>,
}

impl Wait<'_> {
    /// Waits until all have ended; returns their exit code.
    pub(crate) fn run(
        &self,
        mut client: Client,
        interruption: &Interruption,
    ) -> anyhow::Result<ExitCode> {
        interruption.tell_of(&self.tasks);
        let mut tally = Tally::new(&self.tasks);
        let mut progress = Progress::of(self);
        let follower = (self.output == TaskOutput::Followed).then(|| Follower::start(self));
        loop {
            match self.hear_all(&mut client, (&mut tally, &mut progress), follower.as_ref())? {
                None => break,
                Some(ClientError::Ended(_)) => client = self.connect_again()?,
                Some(error) => return Err(requests::failure(error, self.location)),
            }
        }
        progress.end();
        let is_worth_it = 1 < self.tasks.n_tasks() || tally.n_ended == 0;
        let is_all_known = tally.n_brief == 0 && tally.n_ended == tally.n_tasks;
        if is_worth_it && self.output != TaskOutput::Json || !is_all_known {
            eprintln!("sintonia: {}{}", tally.sentence(), self.remedy(&tally));
        }
        let code = tally.code();
        if let Some(command) = self.on_end {
            on_end::run(command, &self.tasks, &tally);
        }
        Ok(ExitCode::from(code))
    }

    /// Commands that show the tasks that failed, and run them again.
    fn remedy(&self, tally: &Tally) -> String {
        if tally.n_failed == 0 {
            return String::new();
        }
        let (tasks, words) = (&self.tasks, self.location.words("--node"));
        format!(
            "; `sintonia tasks {tasks} --failed{words}` says why, `sintonia rerun {tasks}{words}` runs them again"
        )
    }

    /// Receives the ends of all tasks; returns the error if the connection ended before.
    fn hear_all(
        &self,
        client: &mut Client,
        (tally, progress): (&mut Tally, &mut Progress),
        follower: Option<&Follower>,
    ) -> anyhow::Result<Option<ClientError>> {
        let with_output = self.output != TaskOutput::Nothing;
        let mut request = ClientRequest::Wait { tasks: self.tasks.clone(), with_output };
        loop {
            if let Err(error) = client.say(&request) {
                return Ok(Some(error));
            }
            match client.next_answer() {
                Ok(DaemonAnswer::Ended { tasks, n_left }) => {
                    for task in tasks {
                        self.take(&task, (&mut *tally, &mut *progress), follower)?;
                    }
                    if n_left == 0 {
                        return Ok(None);
                    }
                    progress.show(tally);
                }
                Ok(DaemonAnswer::Refused { sentence }) => {
                    return Ok(Some(ClientError::Refused(sentence)));
                }
                Ok(other) => return Err(requests::unexpected(&other)),
                Err(error) => return Ok(Some(error)),
            }
            request = ClientRequest::More;
        }
    }

    fn take(
        &self,
        task: &EndedTask,
        (tally, progress): (&mut Tally, &mut Progress),
        follower: Option<&Follower>,
    ) -> anyhow::Result<()> {
        if !tally.is_new(task) {
            return Ok(());
        }
        let name = TaskName { home: self.tasks.home.clone(), number: task.number };
        match self.output {
            TaskOutput::Nothing => {}
            TaskOutput::Followed => {
                follower.into_iter().try_for_each(|follower| follower.ended(task))?;
            }
            TaskOutput::Json => {
                let mut json = serde_json::to_value(task)?;
                json["task"] = serde_json::to_value(&name)?;
                user_io::print::result(&format!("{json}\n"))?;
            }
            TaskOutput::Output => {
                progress.clear();
                write_output(task)?;
            }
        }
        let is_told =
            tally.n_failed + tally.n_canceled <= N_FAILURES_TOLD && self.output != TaskOutput::Json;
        if is_told && !is_plain(task, &self.tasks) {
            progress.clear();
            // What a failed task wrote last has just been printed, unless no output is.
            let is_said = matches!(task.outcome, TaskOutcome::NotStarted(_));
            let is_printed = is_said || self.output.is_printed() && task.outcome.is_failure();
            let why = task.why.as_deref().filter(|_| !is_printed);
            let why = why.map_or_else(String::new, |why| format!(": {}", escape_line(why)));
            match task.is_brief {
                true => eprintln!("sintonia: {name}: {}", task.outcome),
                false => eprintln!("sintonia: {name}: {} on {}{why}", task.outcome, task.node),
            }
        }
        Ok(())
    }

    fn connect_again(&self) -> anyhow::Result<Client> {
        eprintln!("sintonia: the daemon ended; waiting for it to come back");
        let until = Instant::now() + COMES_BACK_WITHIN;
        loop {
            match self.location.connect()? {
                Ok(client) => return Ok(client),
                Err(_) if Instant::now() < until => std::thread::sleep(POLL_INTERVAL),
                Err(error) => {
                    let (tasks, words) = (&self.tasks, self.location.words("--node"));
                    eprintln!(
                        "sintonia: the tasks are safe; when it runs again, wait with `sintonia tasks {tasks} --wait{words}`"
                    );
                    return Err(requests::failure(error, self.location));
                }
            }
        }
    }
}

/// What Ctrl-C does while tasks are waited for: it ends only this program, and prints the command that waits again.
#[derive(Debug)]
pub(crate) struct Interruption {
    tasks: mpsc::SyncSender<TaskRange>,
}

impl Interruption {
    /// Catches Ctrl-C from now on, before the names of tasks are known, so that none is left without its name.
    pub(crate) fn catch(location: &DaemonLocation) -> anyhow::Result<Self> {
        let words = location.words("--node");
        let (tasks, named) = mpsc::sync_channel::<TaskRange>(1);
        let (hand_over, taken) = mpsc::sync_channel::<Signals>(1);
        let wait = move || {
            let signals = taken.recv();
            if signals.is_ok_and(|mut signals| signals.forever().next().is_some()) {
                match named.recv_timeout(NAMED_WITHIN) {
                    Ok(tasks) => eprintln!(
                        "\nsintonia: the tasks go on; wait again with `sintonia tasks {tasks} --wait{words}`, or end them with `sintonia cancel {tasks}{words}`"
                    ),
                    Err(_) => eprintln!(
                        "\nsintonia: the daemon has not said yet whether it has the tasks; `sintonia tasks{words}` lists them if so"
                    ),
                }
                signal_hook::low_level::emulate_default_handler(SIGINT).ok();
            }
        };
        // If no thread can be started, Ctrl-C ends this program without that message.
        if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_ok() {
            // The thread waits for the signals.
            hand_over.send(Signals::new([SIGINT])?).ok();
        }
        Ok(Self { tasks })
    }

    /// Says the names of the tasks.
    fn tell_of(&self, tasks: &TaskRange) {
        self.tasks.try_send(tasks.clone()).ok();
    }
}

/// Returns whether an end needs no message: the exit code of a single task becomes that of this program, and the
/// summary says why tasks were canceled with their array.
fn is_plain(task: &EndedTask, tasks: &TaskRange) -> bool {
    match task.outcome {
        TaskOutcome::Exit(code) => code == 0 || tasks.n_tasks() == 1,
        TaskOutcome::Canceled => task.why.is_some() && tasks.n_tasks() != 1,
        _ => false,
    }
}

fn write_output(task: &EndedTask) -> anyhow::Result<()> {
    let Some(output) = &task.output else { return Ok(()) };
    std::io::stdout().write_all(&output.stdout.0).context(NotWritten)?;
    std::io::stdout().flush().context(NotWritten)?;
    std::io::stderr().write_all(&output.stderr.0).context(NotWritten)?;
    if output.n_dropped_bytes != 0 {
        let n_bytes = output.n_dropped_bytes;
        eprintln!(
            "sintonia: {n_bytes} bytes of its output were not kept; `--output DIR` keeps all"
        );
    }
    Ok(())
}
