//! Signals around the command: it gets them as this process did, and the signal that ends this process leaves it alone.
//!
//! Running out of memory, and a panic during another one, end a process by `SIGABRT`. While the command runs, the
//! thread that gets this signal waits for the command instead, and ends this process with its exit code: only the
//! report is lost.
//!
//! # Invariants
//! - The handler reads atomics and makes system calls, and nothing else: it may run at any point.
//!
//! # Not here
//! Signals of limits (`limits`), and signals that are passed on (`command`).

#![expect(
    unsafe_code,
    reason = "a handler of a signal, and what is done between `fork` and `exec`"
)]

use crate::limits::ignored_children;
use nix::sys::signal::{SigHandler, Signal, signal};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::SIGABRT;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// Process ID of the command while it runs; afterwards its exit code, as `-1 - code`.
static COMMAND: AtomicI32 = AtomicI32::new(NONE);
const NONE: i32 = 0;
/// Most waits for the code that another thread has got and may never store.
const N_LOOKS: u32 = 1000;
const UNKNOWN: i32 = 255;
const WORDS: &[u8] = b"sintonia: failed while the command ran, as said above: there is no report now; `sintonia report` makes one of \
what is on disk\n";

/// Makes a command ignore the signals that this process ignored when it was started, but does not now.
pub(crate) fn as_found(command: &mut Command) {
    if !ignored_children() {
        return;
    }
    let ignore = || {
        // SAFETY: after `fork`, no code of this program is left that needs a handler.
        let done = unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) };
        done.map(drop).map_err(io::Error::from)
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(ignore) };
}

/// Makes this process end with the exit code of the command from here on.
pub(crate) fn command_runs(command: Pid) {
    static IS_SET: Once = Once::new();
    COMMAND.store(command.as_raw_nonzero().get(), Ordering::SeqCst);
    IS_SET.call_once(|| {
        // SAFETY: the handler only reads atomics and makes system calls. If this fails, only the code may be lost.
        unsafe { signal_hook::low_level::register(SIGABRT, on_abort) }.ok();
    });
}

/// Stores the code with which the command ended.
pub(crate) fn command_ended(code: u8) {
    COMMAND.store(-1 - i32::from(code), Ordering::SeqCst);
}

fn on_abort() {
    let command = COMMAND.load(Ordering::SeqCst);
    if command == NONE {
        return;
    }
    if let Some(pid) = Pid::from_raw(command.max(0)) {
        rustix::io::write(rustix::stdio::stderr(), WORDS).ok();
        wait_for(pid);
    }
    signal_hook::low_level::exit(code());
}

/// Waits for the end of the command, without reaping it.
fn wait_for(pid: Pid) {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(Errno::INTR) => {}
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                let code = status.exit_status().or(signal).unwrap_or(UNKNOWN);
                COMMAND.store(-1 - code, Ordering::SeqCst);
                return;
            }
            // Another thread has reaped it.
            Ok(None) | Err(_) => return,
        }
    }
}

/// Code that is stored, or will be in a moment.
fn code() -> i32 {
    const A_MOMENT: rustix::thread::Timespec =
        rustix::thread::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    for _ in 0..N_LOOKS {
        let ended = COMMAND.load(Ordering::SeqCst);
        if ended < NONE {
            return -1 - ended;
        }
        // If woken early, the loop only looks sooner.
        drop(rustix::thread::nanosleep(&A_MOMENT));
    }
    UNKNOWN
}
