//! Runs a test in its own process.

use instrument::live;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

const MARK: &str = "SINTONIA_LIVE_TEST_CHILD";
/// Time limit of a test in s, far more than needed on a loaded machine.
const DEADLINE_S: u32 = 120;

/// Runs the body in a child process, alone in it; `test` is the test's full name.
#[track_caller]
pub(crate) fn run(test: &str, body: fn()) {
    if let Some(output) = outcome(test, body) {
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
        assert!(text.contains("1 passed"), "no test `{test}`:\n{text}");
    }
}

/// As [`run`], for a body that a signal ends.
#[track_caller]
pub(crate) fn run_to_signal(test: &str, signal: i32, body: fn()) {
    if let Some(output) = outcome(test, body) {
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
    }
}

/// Runs a body of [`run`] as the only thread of a process; the test harness has another one.
pub(crate) fn alone(body: fn()) {
    // SAFETY: the harness waits meanwhile, and holds no lock that the body needs.
    let child = unsafe { libc::fork() };
    assert!(0 <= child);
    if child == 0 {
        let is_lost = std::panic::catch_unwind(body).is_err();
        // SAFETY: ends the process, with nothing left to be written.
        unsafe { libc::_exit(i32::from(is_lost)) };
    }
    let mut status = -1;
    // SAFETY: room for a status.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
}

/// Number of threads of this process.
pub(crate) fn n_threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn outcome(test: &str, body: fn()) -> Option<Output> {
    if std::env::var_os(MARK).is_some() {
        // SAFETY: ends this process, not before its time.
        unsafe { libc::alarm(DEADLINE_S) };
        body();
        return None;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let arguments = ["--exact", test, "--nocapture", "--test-threads=1"];
    Some(Command::new(program).args(arguments).env(MARK, "1").output().expect("it runs"))
}

/// Prepares the process for changes.
pub(crate) fn start() {
    live::start().expect("signals are free");
}

/// Kernel thread id of the calling thread.
pub(crate) fn own_tid() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }.unsigned_abs()
}

/// Runs `body` while threads repeat `work`.
pub(crate) fn beside(n_threads: usize, work: impl Fn() + Sync, body: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    work();
                }
            });
        }
        body();
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Runs `body` beside a thread that sleeps.
pub(crate) fn beside_sleeper(body: impl FnOnce()) {
    thread::scope(|scope| {
        let (release, held) = mpsc::channel::<()>();
        scope.spawn(move || held.recv());
        body();
        drop(release);
    });
}

/// Waits until the condition holds; the alarm is the deadline.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}
