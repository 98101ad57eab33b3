//! Contact of the rank with the collector of its node: starting one if there is none, waking it.
//!
//! Never during a call: only at the start and the end of monitoring.
#![allow(unsafe_code, reason = "files of a child, and signals")]

use ring::futex;
use std::fs::{File, OpenOptions};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Announces a new segment; starts a collector if none is running.
pub(crate) fn announce_start(folder: &Path, program: Option<&Path>) {
    ring_doorbell(folder);
    if !is_collected(folder) {
        let is_first =
            OpenOptions::new().write(true).create_new(true).open(folder.join("starting")).is_ok();
        if let Some(program) = program.filter(|_| is_first) {
            start(program);
        }
    }
}

/// Announces the final numbers; waits up to 2 s for a collector that may die with this rank.
pub(crate) fn announce_end(folder: &Path, program: Option<&Path>, final_taken: &AtomicU32) {
    ring_doorbell(folder);
    if is_started_by_run(folder) {
        return;
    }
    if !is_collected(folder) {
        let Some(program) = program else { return };
        start(program);
    }
    let mut waited = Duration::ZERO;
    while final_taken.load(Ordering::Acquire) == 0 && waited < LONGEST_WAIT {
        futex::wait(final_taken, 0, STEP);
        waited += STEP;
    }
}

const LONGEST_WAIT: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(20);

/// Wakes the collector to read new data.
pub(crate) fn ring_doorbell(folder: &Path) {
    if let Ok(socket) = UnixDatagram::unbound() {
        let _ready = socket.set_nonblocking(true);
        let _rung = socket.send_to(b"!", folder.join("doorbell"));
    }
}

/// Returns whether a process holds the collector's lock.
pub(crate) fn is_collected(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join("collector.lock")) else { return false };
    lock.try_lock_shared().is_err()
}

/// Returns whether the collector belongs to the launcher, so that it outlives this rank.
fn is_started_by_run(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("collector.lock")).unwrap_or_default();
    ["run", "attach"].contains(&text.trim())
}

/// Starts a collector that is not a child of this process, since the program's own `wait` must not return it.
fn start(program: &Path) {
    let mut command = Command::new(program);
    command.args(["collector", "--detach"]).env_remove("LD_PRELOAD").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    // SAFETY: only sets flags of the child's own files.
    unsafe { command.pre_exec(keep_files_from_collector) };
    without_child_signal(|| {
        let _status = command.status();
    });
}

/// Marks all files but the standard ones close-on-exec: a launcher waits until all copies of its ranks'
/// pipes and sockets are closed, and the collector outlives the ranks.
fn keep_files_from_collector() -> std::io::Result<()> {
    // SAFETY: a system call on numbers.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    Ok(())
}

/// Runs `action` so that the program receives no signal about the child that `action` starts and waits for.
fn without_child_signal(action: impl FnOnce()) {
    let mut child_signal = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: fills the set.
    unsafe { libc::sigemptyset(child_signal.as_mut_ptr()) };
    // SAFETY: the set is filled.
    unsafe { libc::sigaddset(child_signal.as_mut_ptr(), libc::SIGCHLD) };
    // SAFETY: both sets are ours.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, child_signal.as_ptr(), before.as_mut_ptr()) };
    action();
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: takes the pending signal of our own child, if it came to this thread.
    unsafe { libc::sigtimedwait(child_signal.as_ptr(), std::ptr::null_mut(), &raw const at_once) };
    // SAFETY: the mask that was there before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
}
