//! Waits for tasks: prints their output as they end, the progress, and a summary.
//!
//! # Invariants
//! - Ending the wait leaves the tasks as they are.
//! - If the daemon is restarted meanwhile, it is asked again; the end of each task is printed once.

use crate::location::DaemonLocation;
use crate::requests;
use anyhow::Context;
use node_daemon::client_socket::{Client, ClientError};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use task_api::{ClientRequest, DaemonAnswer, EndedTask, TaskName, TaskOutcome, TaskRange};
use user_io::exit::NotWritten;
use user_io::print::escape_line;
use user_io::progress::ProgressLine;

/// Longest time for a daemon to come back.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(60);
/// Longest time for the names of tasks to arrive when the wait is interrupted before.
const NAMED_WITHIN: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two lines of progress.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Number of failures that are printed one by one.
const N_FAILURES_TOLD: u64 = 10;

/// Kinds of output about tasks that end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOutput {
    /// Output of the tasks.
    Output,
    /// A line of JSON for each task.
    Json,
    /// Nothing.
    Nothing,
}

/// Tasks that are waited for.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) tasks: TaskRange,
    pub(crate) output: TaskOutput,
    pub(crate) location: &'a DaemonLocation,
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
        loop {
            match self.hear_all(&mut client, &mut tally)? {
                None => break,
                Some(ClientError::Ended(_)) => client = self.connect_again()?,
                Some(error) => return Err(requests::failure(error, self.location)),
            }
        }
        tally.progress.clear();
        let is_worth_it = 1 < self.tasks.n_tasks() || tally.n_ended == 0;
        let is_all_known = tally.n_brief == 0 && tally.n_ended == tally.n_tasks;
        if is_worth_it && self.output != TaskOutput::Json || !is_all_known {
            eprintln!("sintonia: {}{}", tally.sentence(), self.remedy(&tally));
        }
        Ok(tally.code())
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
        tally: &mut Tally,
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
                        self.take(&task, tally)?;
                    }
                    if n_left == 0 {
                        return Ok(None);
                    }
                    tally.show_progress();
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

    fn take(&self, task: &EndedTask, tally: &mut Tally) -> anyhow::Result<()> {
        if !tally.is_new(task) {
            return Ok(());
        }
        let name = TaskName { home: self.tasks.home.clone(), number: task.number };
        match self.output {
            TaskOutput::Nothing => {}
            TaskOutput::Json => {
                let mut json = serde_json::to_value(task)?;
                json["task"] = serde_json::to_value(&name)?;
                user_io::print::result(&format!("{json}\n"))?;
            }
            TaskOutput::Output => {
                tally.progress.clear();
                write_output(task)?;
            }
        }
        let is_told =
            tally.n_failed + tally.n_canceled <= N_FAILURES_TOLD && self.output != TaskOutput::Json;
        if is_told && !is_plain(task, &self.tasks) {
            tally.progress.clear();
            // What a failed task wrote last has just been printed, unless no output is.
            let is_said = matches!(task.outcome, TaskOutcome::NotStarted(_));
            let is_printed =
                is_said || self.output == TaskOutput::Output && task.outcome.is_failure();
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
        let socket = self.location.socket()?;
        let until = Instant::now() + COMES_BACK_WITHIN;
        loop {
            match Client::connect(&socket) {
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

/// Tasks that have ended, and their outcomes.
#[derive(Debug)]
struct Tally {
    first: u64,
    n_tasks: u64,
    /// A bit for each task.
    seen: Vec<u64>,
    n_ended: u64,
    n_failed: u64,
    /// Those of them that were lost too often.
    n_lost: u64,
    n_canceled: u64,
    /// Reason why tasks were canceled, where it was not a user.
    why_canceled: Option<String>,
    /// Tasks of which only the outcome is kept.
    n_brief: u64,
    /// Exit code of the task that ended last.
    code: i32,
    progress: ProgressLine,
    began: Instant,
}

impl Tally {
    fn new(tasks: &TaskRange) -> Self {
        let n_words = usize::try_from(tasks.n_tasks().div_ceil(64)).unwrap_or(0);
        Self {
            first: tasks.first,
            n_tasks: tasks.n_tasks(),
            seen: vec![0; n_words],
            n_ended: 0,
            n_failed: 0,
            n_lost: 0,
            n_canceled: 0,
            why_canceled: None,
            n_brief: 0,
            code: 0,
            progress: ProgressLine::every(TELL_EVERY),
            began: Instant::now(),
        }
    }

    fn is_new(&mut self, task: &EndedTask) -> bool {
        let idx = task.number.checked_sub(self.first).filter(|idx| *idx < self.n_tasks);
        let Some(idx) = idx.and_then(|idx| usize::try_from(idx).ok()) else { return false };
        let Some(word) = self.seen.get_mut(idx / 64) else { return false };
        let bit = 1 << (idx % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        if is_new {
            self.n_ended += 1;
            self.n_failed += u64::from(task.outcome.is_failure());
            self.n_lost += u64::from(task.outcome == TaskOutcome::Lost);
            if task.outcome == TaskOutcome::Canceled {
                self.n_canceled += 1;
                self.why_canceled = self.why_canceled.take().or_else(|| task.why.clone());
            }
            self.n_brief += u64::from(task.is_brief);
            self.code = task.outcome.exit_code();
        }
        is_new
    }

    fn code(&self) -> ExitCode {
        let is_all = self.n_ended == self.n_tasks;
        let is_fine = is_all && self.n_failed + self.n_canceled == 0;
        let code = if self.n_tasks == 1 && is_all { self.code } else { i32::from(!is_fine) };
        // A code that does not fit is a failure as well.
        ExitCode::from(u8::try_from(code).unwrap_or(1))
    }

    fn sentence(&self) -> String {
        let Self { n_ended, n_tasks, .. } = self;
        let failed = self.failures();
        let seconds = self.began.elapsed().as_secs_f64();
        let brief = match self.n_brief {
            0 => String::new(),
            n => format!(
                "; for {n} that ended long ago only the outcome is kept, not the output (`sintonia node start \
                 --keep-tasks N` keeps more)"
            ),
        };
        let forgotten = match n_tasks - n_ended {
            0 => String::new(),
            n => format!(
                "; nothing is known about {n}: they ended long ago, or were lost with a damaged journal \
                 (see `sintonia nodes`)"
            ),
        };
        format!("{n_ended} of {n_tasks} tasks ended in {seconds:.1} s, {failed}{brief}{forgotten}")
    }

    /// Numbers of tasks that did not succeed, in words.
    fn failures(&self) -> String {
        let Self { n_failed, n_lost, n_canceled, .. } = self;
        let lost = match n_lost {
            0 => String::new(),
            n => format!(" ({n} of them lost with their nodes)"),
        };
        let why = self.why_canceled.as_deref();
        let why = why.map_or_else(String::new, |why| format!(" ({})", escape_line(why)));
        let failed = (0 < *n_failed).then(|| format!("{n_failed} failed{lost}"));
        let canceled = (0 < *n_canceled).then(|| format!("{n_canceled} canceled{why}"));
        let parts = [failed, canceled].into_iter().flatten().collect::<Vec<_>>().join(", ");
        if parts.is_empty() { "all with exit code 0".to_owned() } else { parts }
    }

    fn show_progress(&mut self) {
        let Self { n_ended, n_tasks, n_failed, .. } = self;
        self.progress.show(|| {
            let failed =
                if *n_failed == 0 { String::new() } else { format!(", {n_failed} failed") };
            format!("sintonia: {n_ended}/{n_tasks} ended{failed}")
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(number: u64, outcome: TaskOutcome) -> EndedTask {
        let (node, output, started_ms) = ("alpha".to_owned(), None, None);
        let (is_brief, why) = (false, None);
        let (instance, ended_ms) = (1, 0);
        let usage = task_api::Usage::default();
        EndedTask {
            number,
            node,
            instance,
            started_ms,
            ended_ms,
            outcome,
            output,
            is_brief,
            why,
            usage,
        }
    }

    #[track_caller]
    fn check(range: &str, ends: &[(u64, TaskOutcome)], code: u8, sentence: &str) {
        let mut tally = Tally::new(&range.parse().unwrap());
        for (number, outcome) in ends {
            tally.is_new(&ended(*number, outcome.clone()));
        }
        assert_eq!(format!("{:?}", tally.code()), format!("{:?}", ExitCode::from(code)));
        let said = tally.sentence();
        assert!(said.starts_with(sentence), "{said}");
    }

    #[test]
    fn the_code_is_that_of_the_task_and_0_or_1_of_an_array() {
        check("alpha.7", &[(7, TaskOutcome::Exit(3))], 3, "1 of 1 tasks");
        check("alpha.7", &[(7, TaskOutcome::Signal(9))], 137, "1 of 1 tasks");
        let both = |code: i32| [(7, TaskOutcome::Exit(code)), (8, TaskOutcome::Exit(0))];
        check("alpha.7-8", &both(3), 1, "2 of 2 tasks");
        check("alpha.7-8", &both(0), 0, "2 of 2 tasks");
    }

    /// Dropped output of tasks was not mentioned.
    #[test]
    fn what_is_no_longer_kept_is_said() {
        let mut tally = Tally::new(&"alpha.7-9".parse().unwrap());
        tally.is_new(&EndedTask { is_brief: true, ..ended(7, TaskOutcome::Exit(0)) });
        tally.is_new(&ended(8, TaskOutcome::Exit(0)));
        let said = tally.sentence();
        assert!(said.contains("for 1 that ended long ago only the outcome is kept"), "{said}");
        assert!(said.contains("nothing is known about 1:"), "{said}");
    }

    #[test]
    fn what_did_not_succeed_is_counted_by_kind() {
        let mut tally = Tally::new(&"alpha.1-9".parse().unwrap());
        let why = Some("2 tasks of its array failed".to_owned());
        let outcomes = [TaskOutcome::Exit(0), TaskOutcome::Exit(3), TaskOutcome::Lost];
        for (number, outcome) in (1..).zip(outcomes) {
            tally.is_new(&ended(number, outcome));
        }
        tally.is_new(&EndedTask { why, ..ended(4, TaskOutcome::Canceled) });
        let said = tally.sentence();
        let expected = ", 2 failed (1 of them lost with their nodes), \
                        1 canceled (2 tasks of its array failed)";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_task_that_is_reported_twice_counts_once() {
        let failed = |number| (number, TaskOutcome::Exit(1));
        let twice = [failed(7), failed(7), failed(6), (9, TaskOutcome::Lost)];
        check("alpha.7-8", &twice, 1, "1 of 2 tasks");
        check("alpha.7-8", &[(7, TaskOutcome::Exit(0))], 1, "1 of 2 tasks");
        check("alpha.7", &[], 1, "0 of 1 tasks");
    }
}
