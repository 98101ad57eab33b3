//! `sintonia slurm-policy`: shrinks malleable jobs when others wait, and grows them when nodes are idle.
//!
//! Reads Slurm's queue and the control folder, lets `resize_plan::queue` decide, and writes requests. It changes nothing in
//! Slurm: programs request and return nodes themselves.
//!
//! # Invariants
//! - Slurm's controller may be unreachable for a while; meanwhile nothing is decided.
//! - It may be ended and started at any time: programs carry out or refuse earlier requests without it.

mod view;

use crate::control::{UserControl, request_id};
use anyhow::Context;
use clap::Args;
use resize_api::{JobStatus, ResizeOutcome, ResizeRequest};
use resize_plan::queue::{QueueRules, ResizeReason};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use user_io::exit::NotWritten;
use user_io::terminal::Terminal;
use view::{NodesWanted, PolicyState, ProgramAnswer};

const FROM: &str = "slurm-policy";
/// Time between two checks of the signals that end it.
const END_POLL_INTERVAL: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  sintonia slurm-policy
  sintonia slurm-policy --dry-run --once
  sintonia slurm-policy --interval 5 --calm 120 --partition batch
  sintonia slurm-policy --json >> policy.jsonl

Runs as the user whose programs it resizes, on any host that sees Slurm and the control folder.
The first job that waits for nodes gets them from malleable jobs, from those first that have more
than they prefer; nobody gets less than it agreed to. Nodes that nobody waits for go to the
smallest programs. A program with `--iterations` tells what it has measured: it gets nodes where
they save most time, gives those whose loss costs it least, and none once no size is faster.
Such a node has to be idle for as long as a change to it and back takes to pay, so `--once` gives
none.";

/// Share the nodes of Slurm between malleable jobs and jobs that wait
///
/// Shrinks malleable programs when jobs wait, and grows them when nodes are idle, each within its `--sizes`. Prints
/// each decision, and its outcome, on one line. Ends with Ctrl-C; programs keep the sizes that they have.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Time between two reads of the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    interval: f64,
    /// Time after a resize before a program may grow again; 20 times the cost of the resize, if that is more
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    calm: f64,
    /// Partition of Slurm; by default Slurm's default one
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Decide once, and end
    #[arg(long)]
    once: bool,
    /// Print what would be decided, and resize nothing
    #[arg(long)]
    dry_run: bool,
    /// Print each line as JSON
    #[arg(long)]
    json: bool,
    /// Folder of the programs' `--control`; by default `~/.sintonia/jobs`
    #[arg(long, value_name = "DIR")]
    control: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && 0.0 <= *value);
    value.ok_or_else(|| "write a number of seconds, 0 or more".to_owned())
}

/// Decides until a signal ends it.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let end = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        flag::register(signal, end.clone()).context("cannot install a signal handler")?;
    }
    let control = UserControl::of(options.control.as_deref())?;
    let rules = QueueRules { calm_s: options.calm, ..QueueRules::default() };
    let mut policy =
        Policy { options, control, rules, state: PolicyState::default(), is_away: false };
    let began = Instant::now();
    while !end.load(Ordering::Relaxed) {
        let is_answered = policy.poll(began.elapsed().as_secs_f64())?;
        if options.once {
            anyhow::ensure!(is_answered, "nothing is decided, because Slurm did not answer");
            break;
        }
        let until = Instant::now() + Duration::from_secs_f64(options.interval);
        while Instant::now() < until && !end.load(Ordering::Relaxed) {
            std::thread::sleep(END_POLL_INTERVAL);
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Policy<'a> {
    options: &'a Options,
    control: UserControl,
    rules: QueueRules,
    state: PolicyState,
    /// True if Slurm did not answer last time.
    is_away: bool,
}

impl Policy<'_> {
    /// Reads the queue and decides. Returns false if Slurm did not answer.
    fn poll(&mut self, now_s: f64) -> anyhow::Result<bool> {
        let programs = self.programs();
        for answered in self.state.record_answers(&programs, now_s) {
            self.print_line(&answer_line(&answered))?;
        }
        let queue = match ask_slurm(self.options.partition.as_deref()) {
            Ok(queue) => queue,
            Err(why) => {
                if !std::mem::replace(&mut self.is_away, true) {
                    eprintln!(
                        "sintonia: Slurm does not answer ({why}); nothing is decided until it does"
                    );
                }
                return Ok(false);
            }
        };
        if std::mem::take(&mut self.is_away) {
            eprintln!("sintonia: Slurm answers again");
        }
        self.decide(&queue, &programs, now_s)?;
        Ok(true)
    }

    /// Programs under Slurm that seem to be alive.
    fn programs(&self) -> Vec<JobStatus> {
        let jobs = self.control.jobs().into_iter().filter(|found| !found.is_stale);
        jobs.map(|found| found.status).filter(|status| status.slurm_job.is_some()).collect()
    }

    fn decide(&mut self, queue: &Queue, programs: &[JobStatus], now_s: f64) -> anyhow::Result<()> {
        for decision in self.state.decide(queue, programs, &self.rules, now_s) {
            // A request that is already there comes first.
            if self.control.has_request(&decision.name) {
                continue;
            }
            self.print_line(&decision_line(&decision))?;
            if !self.options.dry_run {
                self.request(&decision, now_s)?;
            }
        }
        Ok(())
    }

    fn request(&mut self, decision: &NodesWanted, now_s: f64) -> anyhow::Result<()> {
        let (id, size, from) = (request_id(), decision.size, FROM.to_owned());
        self.control
            .request(&decision.name, &ResizeRequest { id, size, from, hosts: Vec::new() })?;
        self.state.record_request(decision, id, now_s);
        Ok(())
    }

    fn print_line(&self, (sentence, value): &(String, Value)) -> anyhow::Result<()> {
        let line = if self.options.json { format!("{value}\n") } else { format!("{sentence}\n") };
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).context(NotWritten)
    }
}

/// Line about a decision and its reason.
fn decision_line(decision: &NodesWanted) -> (String, Value) {
    let NodesWanted { change, name, program, from_size, size } = decision;
    let (why, waiting) = match change.reason {
        ResizeReason::MakesRoom { job } => (format!("so that job {job} can start"), Some(job)),
        ResizeReason::UsesIdle => ("because nodes are idle".to_owned(), None),
        ResizeReason::IsAsFast => ("because it is as fast so".to_owned(), None),
    };
    let (from, to) = (change.from, change.to);
    let sentence = format!(
        "job {name} ({program}) from {from} to {to} nodes, {from_size} to {size} ranks, {why}"
    );
    let value = json!({
        "at": at(), "what": "decision", "job": name, "program": program, "from_nodes": from, "to_nodes": to,
        "from": from_size, "to": size, "waiting_job": waiting,
    });
    (sentence, value)
}

/// Line about a program's answer to a request.
fn answer_line(answered: &ProgramAnswer) -> (String, Value) {
    let ProgramAnswer { name, program, size, outcome, sentence } = answered;
    let verb = if *outcome == ResizeOutcome::Done { "has" } else { "keeps" };
    let text = format!("job {name} ({program}) {verb} {size} ranks: {sentence}");
    let value = json!({
        "at": at(), "what": "answer", "job": name, "program": program, "size": size, "outcome": outcome,
        "sentence": sentence,
    });
    (text, value)
}

fn at() -> String {
    chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, false)
}

/// Time after which a controller that has not answered counts as unreachable.
const LIMIT: Duration = Duration::from_secs(20);

/// Jobs and nodes of a partition at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Queue {
    /// Jobs in the order in which they are to start.
    jobs: Vec<QueuedJob>,
    n_idle: u32,
}

/// Job in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
struct QueuedJob {
    job: u64,
    /// State as Slurm prints it.
    state: String,
    n_nodes: u32,
    /// Reason why it waits, as Slurm prints it.
    reason: String,
    priority: u64,
    name: String,
}

impl QueuedJob {
    /// True if the job waits for nodes and nothing else.
    fn is_waiting(&self) -> bool {
        self.state == "PENDING" && ["None", "Resources", "Priority"].contains(&self.reason.as_str())
    }

    /// Job for which this companion job holds a node.
    fn companion_of(&self) -> Option<u64> {
        self.name.strip_prefix("sintonia-")?.parse().ok()
    }
}

/// Asks Slurm for the queue.
fn ask_slurm(partition: Option<&str>) -> Result<Queue, String> {
    let nodes = output_of("sinfo", &["--noheader", "--Node", "--format=%P|%N|%T"])?;
    let partition = match partition {
        Some(name) => name.to_owned(),
        None => default_partition(&nodes)
            .ok_or("no partition is the default; name one by `--partition`")?,
    };
    let only = format!("--partition={partition}");
    let jobs = output_of("squeue", &["--noheader", &only, "--format=%A|%T|%D|%r|%Q|%j"])?;
    Ok(read(&partition, &nodes, &jobs))
}

/// Returns what a command prints on standard output, or a sentence that says why there is nothing.
fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    // This program may be watched itself; the command should not be.
    let ended = timed_command::run(command.args(arguments).env_remove("LD_PRELOAD"), LIMIT);
    let ended = ended.map_err(|error| format!("`{program}` {error}"))?;
    if ended.status.success() { Ok(ended.output) } else { Err(ended.complaint().to_owned()) }
}

fn default_partition(nodes: &str) -> Option<String> {
    let names = nodes.lines().filter_map(|line| line.split('|').next());
    names.filter_map(|name| name.strip_suffix('*')).map(str::to_owned).next()
}

/// Parses the output. Lines that are not understood are skipped: nothing can be done about their jobs.
fn read(partition: &str, nodes: &str, jobs: &str) -> Queue {
    let is_idle = |line: &&str| {
        let fields: Vec<&str> = line.trim().split('|').collect();
        matches!(fields.as_slice(), [name, _, "idle"] if name.trim_end_matches('*') == partition)
    };
    let n_idle = u32::try_from(nodes.lines().filter(is_idle).count()).unwrap_or(u32::MAX);
    let mut jobs: Vec<QueuedJob> = jobs.lines().filter_map(job).collect();
    jobs.sort_by_key(|job| (std::cmp::Reverse(job.priority), job.job));
    Queue { jobs, n_idle }
}

fn job(line: &str) -> Option<QueuedJob> {
    let mut fields = line.trim().splitn(6, '|');
    let mut next = || fields.next();
    Some(QueuedJob {
        job: next()?.parse().ok()?,
        state: next()?.to_owned(),
        n_nodes: next()?.parse().ok()?,
        reason: next()?.to_owned(),
        priority: next()?.parse().ok()?,
        name: next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_jobs_are_read() {
        let nodes = "all*|n1|idle\nall*|n2|allocated\nall*|n3|idle~\nall*|n4|idle\nother|n4|idle\n";
        let jobs = "12|PENDING|2|Resources|10|b\n11|PENDING|1|Dependency|10|a\n13|PENDING|4|Priority|20|x|y\n\
                    9|RUNNING|3|None|5|sintonia-7\nsqueue: error: something\n";
        assert_eq!(default_partition(nodes).as_deref(), Some("all"));
        let queue = read("all", nodes, jobs);
        assert_eq!(queue.n_idle, 2);
        let waiting = queue.jobs.iter().filter(|job| job.is_waiting());
        assert_eq!(
            waiting.map(|job| (job.job, job.n_nodes)).collect::<Vec<_>>(),
            [(13, 4), (12, 2)]
        );
        let companions = queue.jobs.iter().filter_map(|job| Some((job.job, job.companion_of()?)));
        assert_eq!(companions.collect::<Vec<_>>(), [(9, 7)]);
        assert_eq!(read("other", nodes, "").n_idle, 1);
        assert_eq!(default_partition("a|n1|idle"), None);
    }
}
