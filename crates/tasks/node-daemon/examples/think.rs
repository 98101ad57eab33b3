//! Measures the cost of a node's core, without threads, files or processes: `think N_TASKS`.
//!
//! Prints nanoseconds for each task that is submitted, started, ended and reported, and how much memory a node
//! takes with that many queued tasks that were submitted one by one (`think memory N_TASKS`).
#![expect(clippy::print_stdout, reason = "a program of the command line")]

use std::error::Error;
use std::time::Instant;

use node_core::book::{Book, BookLimits, JournalRecord};
use node_core::interface::{
    AttemptEnd, ClientId, CoreEvent, CoreTimer, EndedAttempt, Job, KeeperEvent, KeeperOrder,
    Moment, NodeId, Now, Out, PeerMessage, node_id,
};
use node_core::{Core, CoreOptions};
use node_daemon::journal::Encoder;
use task_api::{ArrayIndices, ClientRequest, DaemonAnswer, Output, Presence, Submission};

/// Receives the core's output, and encodes the records that would be written.
struct Sink {
    encoder: Encoder,
    jobs: Vec<Job>,
    bytes: Vec<u8>,
    n_bytes: usize,
    more: bool,
    n_told: usize,
}

impl Sink {
    fn new() -> Self {
        Self {
            encoder: Encoder::new("n", 0),
            jobs: Vec::new(),
            bytes: Vec::new(),
            n_bytes: 0,
            more: false,
            n_told: 0,
        }
    }
}

impl Out for Sink {
    fn send(&mut self, _to: NodeId, _message: PeerMessage) {}

    fn answer(&mut self, _client: ClientId, answer: DaemonAnswer) {
        if let DaemonAnswer::Ended { tasks, n_left } = answer {
            self.n_told += tasks.len();
            self.more = 0 < n_left;
        }
    }

    fn keeper(&mut self, order: KeeperOrder) {
        if let KeeperOrder::Start(job) = order {
            self.jobs.push(*job);
        }
    }

    fn timer(&mut self, _timer: CoreTimer, _at: Moment) {}

    fn presence(&mut self, _presence: Presence) {}

    fn append(&mut self, record: &JournalRecord) {
        self.bytes.clear();
        if self.encoder.encode(record, &mut self.bytes).is_ok() {
            self.n_bytes += self.bytes.len();
        }
    }

    fn leave(&mut self) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["memory", n_tasks] => memory(n_tasks.parse()?),
        [n_tasks] => think(n_tasks.parse()?),
        _ => Err("usage: think [memory] N_TASKS".into()),
    }
}

fn core(sink: &mut Sink) -> Core {
    let book = Book::new(node_id("n"), BookLimits::default());
    let mut core = Core::new(CoreOptions::new("n"), Now::default(), book, sink);
    let inventory = KeeperEvent::Inventory { running: Vec::new(), ended: Vec::new() };
    core.on(Now::default(), CoreEvent::Keeper(inventory), sink);
    core
}

fn submission(array: Option<ArrayIndices>, text: String) -> Submission {
    Submission {
        command: vec!["/usr/bin/simulate".to_owned(), "--input".to_owned(), text],
        folder: "/home/user/project".to_owned(),
        environment: std::env::vars().collect(),
        array,
        ..Submission::default()
    }
}

fn think(n_tasks: u64) -> Result<(), Box<dyn Error>> {
    let mut sink = Sink::new();
    let mut core = core(&mut sink);
    let now = |n: u64| Now { moment: Moment(n * 500_000), unix_ms: n / 2 };
    let client = ClientId(1);
    let began = Instant::now();
    let array = Some(ArrayIndices::range(1, n_tasks));
    let request = ClientRequest::Submit { submission: Box::new(submission(array, "x".to_owned())) };
    core.on(now(0), CoreEvent::FromClient { client, request }, &mut sink);
    let tasks = format!("n.1-{n_tasks}").parse()?;
    let request = ClientRequest::Wait { tasks, with_output: true };
    core.on(now(0), CoreEvent::FromClient { client, request }, &mut sink);
    let mut n_ended = 0;
    while let Some(job) = sink.jobs.pop() {
        n_ended += 1;
        let ended = EndedAttempt {
            attempt: job.attempt,
            end: AttemptEnd::Exit(0),
            started_ms: n_ended,
            ended_ms: n_ended,
            output: Output::default(),
            usage: task_api::Usage::default(),
        };
        core.on(now(n_ended), CoreEvent::Keeper(KeeperEvent::Ended(vec![ended])), &mut sink);
        if std::mem::take(&mut sink.more) {
            core.on(
                now(n_ended),
                CoreEvent::FromClient { client, request: ClientRequest::More },
                &mut sink,
            );
        }
    }
    let ns = began.elapsed().as_nanos() as f64 / n_ended as f64;
    println!("{n_ended} tasks ended, {} told: {ns:.0} ns for each", sink.n_told);
    println!("{} bytes of journal", sink.n_bytes);
    Ok(())
}

fn memory(n_tasks: u64) -> Result<(), Box<dyn Error>> {
    let mut sink = Sink::new();
    let mut core = core(&mut sink);
    let before = memory_kib()?;
    let began = Instant::now();
    for number in 0..n_tasks {
        let submission = submission(None, format!("/data/set/{number:08}.txt"));
        let request = ClientRequest::Submit { submission: Box::new(submission) };
        core.on(Now::default(), CoreEvent::FromClient { client: ClientId(1), request }, &mut sink);
    }
    let n_queued = core.book().tasks().n_queued();
    let after = memory_kib()?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{n_queued} queued in {seconds:.2} s: {} MiB at most, {} MiB before",
        after / 1024,
        before / 1024
    );
    println!("{} bytes of journal", sink.n_bytes);
    Ok(())
}

/// Peak memory of this process, in KiB.
fn memory_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
