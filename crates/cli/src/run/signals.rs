//! Signals around the command: it finds them as we did, and the one that ends us leaves it alone.
//!
//! Having no memory, and a panic in the midst of another, end a process by `SIGABRT`. While the command runs, the thread
//! that this happens to waits for the command instead, and ends us with its exit code: the report is lost, and no more.
//!
//! # Invariants
//! - The handler reads atomics and calls the system, and nothing else: it may run anywhere.
//!
//! # Not here
//! Signals of limits (`limits`), and those that are passed on (`command`).

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

/// The command's process while it runs; afterwards its exit code, as `-1 - code`.
static COMMAND: AtomicI32 = AtomicI32::new(NONE);
const NONE: i32 = 0;
/// Looks for the code that another thread has got, and one when it never says.
const N_LOOKS: u32 = 1000;
const UNKNOWN: i32 = 255;
const WORDS: &[u8] = b"sintonia: failed while the command ran, as said above: there is no report now; `sintonia report` makes one of \
what is on disk\n";

/// Lets a command ignore what we ignored when we were started, and do not now.
pub(crate) fn as_found(command: &mut Command) {
    if !ignored_children() {
        return;
    }
    let ignore = || {
        // SAFETY: no code of ours is left that a handler would be needed for.
        let done = unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) };
        done.map(drop).map_err(io::Error::from)
    };
    // SAFETY: it only calls the system.
    unsafe { command.pre_exec(ignore) };
}

/// From here on we end with its code.
pub(crate) fn command_runs(command: Pid) {
    static IS_SET: Once = Once::new();
    COMMAND.store(command.as_raw_nonzero().get(), Ordering::SeqCst);
    IS_SET.call_once(|| {
        // SAFETY: it reads atomics and calls the system only. Without it, only the code would be lost.
        unsafe { signal_hook::low_level::register(SIGABRT, on_abort) }.ok();
    });
}

/// It ended with this code.
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

/// Waits for its end, and leaves it to whoever asks for it.
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
            // Another thread has asked for it.
            Ok(None) | Err(_) => return,
        }
    }
}

/// The code that is known, or will be in a moment.
fn code() -> i32 {
    const A_MOMENT: rustix::thread::Timespec =
        rustix::thread::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    for _ in 0..N_LOOKS {
        let ended = COMMAND.load(Ordering::SeqCst);
        if ended < NONE {
            return -1 - ended;
        }
        // Woken early, it looks early.
        drop(rustix::thread::nanosleep(&A_MOMENT));
    }
    UNKNOWN
}
