//! Thread that manages the process of a tunlet: starts it, reads its answers, ends it, and reaps it.
//!
//! # Invariants
//! - The thread lives as long as the process, which is killed when its parent thread ends.

use super::shared::Shared;
use crate::message::{ANSWERS, HostOrder, ORDERS, TunletAnswer};
use frame::{FrameBuffer, FrameError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tunlets::News;

/// Maximum number of news in a batch.
const N_NEWS_MAX: usize = 256;
/// Interval at which a silent process is checked, in ns.
const LOOK_NS: i64 = 50_000_000;
/// Maximum length in bytes of a line shown to the user; the rest becomes further lines.
const LINE_BYTES_MAX: u64 = 1000;
/// Time for a process to end after its last answer.
const FAREWELL: Duration = Duration::from_secs(1);
/// Time to wait for the last lines of a process that has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Starts the process with the threads that serve it.
pub(super) fn start(
    library: &Path,
    host_program: &Path,
    shared: &Arc<Shared>,
    orders: Receiver<HostOrder>,
) -> io::Result<JoinHandle<()>> {
    let mut command = Command::new(host_program);
    command.arg("tunlet-host").arg(library).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shared = Arc::clone(shared);
    let (started, is_started) = channel();
    let supervisor = thread::Builder::new().name("tunlet".into()).spawn(move || {
        let outcome = command.spawn();
        match outcome {
            Ok(child) => {
                shared.lock().process_id = Some(child.id());
                started.send(Ok(())).ok();
                supervise(child, &shared, orders);
            }
            Err(error) => {
                started.send(Err(error)).ok();
            }
        }
    })?;
    is_started.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok(supervisor)
}

fn supervise(mut child: Child, shared: &Arc<Shared>, orders: Receiver<HostOrder>) {
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(input), Some(answers), Some(lines)) = pipes else { return };
    let of_writer = Arc::clone(shared);
    let write = move || write_orders(&of_writer, &orders, input);
    let writer = thread::Builder::new().name("orders".into()).spawn(write);
    let (told, all_told) = channel::<()>();
    let teller = Arc::clone(shared);
    let tell_all = move || {
        tell(&teller, lines);
        drop(told);
    };
    let teller = thread::Builder::new().name("lines".into()).spawn(tell_all);
    match writer.as_ref().and(teller.as_ref()) {
        Ok(_) => read_answers(&child, shared, answers),
        // The process is not left running without threads that serve it.
        Err(error) => shared.end(|| format!("the system gives no thread: {error}")),
    }
    let status = reap(&mut child, shared);
    shared.lock().process_id = None;
    // A descendant of the process may hold the other end of the pipe open.
    all_told.recv_timeout(LAST_WORDS).ok();
    shared.end(|| status.map_or_else(|| "it is gone".to_owned(), ending));
    // Its input is closed now, so the writer no longer waits.
    writer.into_iter().for_each(|writer| writer.join().unwrap_or_default());
}

/// Reads answers until the process must be ended, or has ended.
fn read_answers(child: &Child, shared: &Shared, mut answers: ChildStdout) {
    let mut frames = FrameBuffer::new(ANSWERS);
    let mut bytes = vec![0; 64 << 10];
    loop {
        if let Some(how) = shared.overdue() {
            return shared.end(|| how);
        }
        if !is_readable(&answers) {
            if has_exited(child) {
                return;
            }
            continue;
        }
        match answers.read(&mut bytes) {
            Ok(0) => return,
            Ok(n) => frames.push(&bytes[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
        if let Err(how) = take_answers(shared, &mut frames) {
            return shared.end(|| how);
        }
    }
}

fn is_readable(answers: &ChildStdout) -> bool {
    let mut polled = [PollFd::new(answers, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
    poll(&mut polled, Some(&timeout)).is_ok_and(|n| 0 < n)
}

fn take_answers(shared: &Shared, frames: &mut FrameBuffer) -> Result<(), String> {
    let garbage = |error: FrameError| format!("its answer is garbage ({error})");
    while let Some(answer) = frames.next_message().map_err(garbage)? {
        if shared.lock().owes_since.is_none() {
            return Err("it sent an answer without a request".to_owned());
        }
        let mut is_allowed = true;
        shared.answer(|state| match answer {
            TunletAnswer::Opened(opened) => state.opened = Some(opened),
            TunletAnswer::Begun(begun) => state.begun = Some(begun),
            TunletAnswer::Heard(decisions) => is_allowed = state.decide(decisions),
        });
        if !is_allowed {
            return Err("it wants to change a tuning point that it did not name".to_owned());
        }
    }
    Ok(())
}

/// Returns whether the process has exited; its id stays reserved until it is reaped.
fn has_exited(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

/// Ensures that the process and its descendants have ended.
fn reap(child: &mut Child, shared: &Shared) -> Option<ExitStatus> {
    // Its answers ended, so it is about to exit: its own exit status is the one the user wants to know.
    let since = Instant::now();
    while shared.lock().ended.is_none() && !has_exited(child) && since.elapsed() < FAREWELL {
        thread::sleep(Duration::from_millis(1));
    }
    // The process may be gone, together with its group.
    kill_process_group(Pid::from_child(child), Signal::KILL).ok();
    child.kill().ok();
    child.wait().ok()
}

/// Passes its standard error on to the user, line by line.
fn tell(shared: &Shared, lines: ChildStderr) {
    let mut lines = BufReader::new(lines);
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => shared.add_line(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}

/// Writes orders in batches, the next one when the last is answered, until the queue or the tunlet ends; the process's
/// input is closed when this function returns.
fn write_orders(shared: &Shared, orders: &Receiver<HostOrder>, mut to: ChildStdin) {
    let mut next = None;
    while let Some(order) = next.take().or_else(|| orders.recv().ok()) {
        let batch = match order {
            HostOrder::Hear(first) => HostOrder::Hear(gather(orders, first, &mut next)),
            other => other,
        };
        if !shared.wait_for_answer() {
            return;
        }
        shared.lock().owes_since = Some(Instant::now());
        // The supervisor notices that the process is gone.
        if ORDERS.write(&batch, &mut to).is_err() || !shared.wait_for_answer() {
            return;
        }
    }
}

/// Collects waiting news, up to an order of another kind.
fn gather(
    orders: &Receiver<HostOrder>,
    mut all: Vec<News>,
    next: &mut Option<HostOrder>,
) -> Vec<News> {
    while all.len() < N_NEWS_MAX {
        match orders.try_recv() {
            Ok(HostOrder::Hear(mut more)) => all.append(&mut more),
            Ok(other) => {
                *next = Some(other);
                break;
            }
            Err(_) => break,
        }
    }
    all
}

/// Describes how a process ended: "killed by SIGSEGV", "it exited with code 3".
fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by {}", signal_name(signal)),
        (None, Some(code)) => format!("it exited with code {code}"),
        (None, None) => "it is gone".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGXCPU => "SIGXCPU",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: i32, expected: &str) {
        assert_eq!(ending(ExitStatus::from_raw(raw)), expected);
    }

    #[test]
    fn an_end_is_named() {
        check(11, "killed by SIGSEGV");
        check(6 | 0x80, "killed by SIGABRT");
        check(40, "killed by signal 40");
        check(3 << 8, "it exited with code 3");
        check(0, "it exited with code 0");
    }
}
