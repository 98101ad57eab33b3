//! Starts the daemon in the background, as a process of its own, and waits until it answers.

use anyhow::Context;
use node_daemon::client_socket::Client;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use task_api::{Answer, Request};
use user_io::exit::NoDaemon;

/// Longest time until a daemon answers: reading a long journal takes a while.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// File with the messages of a daemon in the background.
/// Most bytes of the log that are shown when the daemon does not start.
pub(super) const LOG: &str = "node.log";
/// Most of the log that is shown when it does not start.
const SHOWN_BYTES_MAX: usize = 4096;

/// Starts the daemon; returns when it answers.
pub(super) fn start(folder: &Path) -> anyhow::Result<ExitCode> {
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .mode(0o600)
        .open(folder.join(LOG))
        .with_context(|| format!("`{}` cannot be written", folder.join(LOG).display()))?;
    let begins = log.seek(SeekFrom::End(0))?;
    let child = spawn(&log)?;
    let mut client = wait(child, folder, (log, begins))?;
    let node = client.node().to_owned();
    eprintln!("sintonia: node `{node}` is up; its log is `{}`", folder.join(LOG).display());
    say_troubles(&mut client);
    Ok(ExitCode::SUCCESS)
}

/// Prints the troubles of the daemon: no user reads its log once it has started.
fn say_troubles(client: &mut Client) {
    let own = client.node().to_owned();
    // If the daemon has just ended, the next command notices.
    let Ok(Answer::Nodes { nodes }) = client.ask(&Request::Nodes) else { return };
    let troubles = nodes.iter().filter(|node| node.node == own).flat_map(|node| &node.troubles);
    troubles.for_each(|sentence| eprintln!("sintonia: {sentence}"));
}

/// Starts the same command without `--background`.
fn spawn(log: &File) -> anyhow::Result<Child> {
    let words = std::env::args_os().skip(1).filter(|word| word != "--background");
    let mut command = Command::new("/proc/self/exe");
    command.arg0("sintonia").args(words).arg("--detached");
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    command.spawn().context("the daemon cannot be started")
}

/// Connects to the daemon when it answers.
fn wait(mut child: Child, folder: &Path, log: (File, u64)) -> anyhow::Result<Client> {
    let until = Instant::now() + ANSWERS_WITHIN;
    loop {
        if let Ok(client) = Client::connect(folder) {
            return Ok(client);
        }
        let has_ended = child.try_wait()?.is_some();
        if has_ended || until < Instant::now() {
            let how = if has_ended { "did not start" } else { "does not answer" };
            let why = format!("the daemon {how}; its last messages: {}", log_tail(log));
            return Err(NoDaemon.because(why).into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Text that the daemon has written since it was started, in one sentence.
fn log_tail((mut log, begins): (File, u64)) -> String {
    let mut text = String::new();
    let read = log.seek(SeekFrom::Start(begins)).and_then(|_| log.read_to_string(&mut text));
    let text = read.map_or("nothing", |_| text.trim());
    let tail = text.char_indices().rev().nth(SHOWN_BYTES_MAX).map_or(text, |(at, _)| &text[at..]);
    let tail = tail.trim_start_matches("sintonia: ");
    if tail.is_empty() { "nothing".to_owned() } else { tail.to_owned() }
}
