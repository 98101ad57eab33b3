//! Watchdog for MPI calls that wait for other ranks and cannot be interrupted: initializing, finalizing, and
//! creating communicators.
//!
//! A thread watches the time meanwhile. When the call does not return in time, this process cannot continue: it
//! prints a message to standard error and exits with code [`EXIT_STUCK`], upon which the launcher ends the other
//! ranks. The limit is an hour, because a rank may read its input for long before it makes the call, or the value of
//! the variable `SINTONIA_MPI_PATIENCE_S`.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Exit code of a process that waited in MPI in vain, the same as that of the command `timeout`.
pub const EXIT_STUCK: i32 = 124;

const VARIABLE: &str = "SINTONIA_MPI_PATIENCE_S";
const CALL_TIMEOUT: Duration = Duration::from_hours(1);

/// Makes a call that cannot be interrupted. When no thread can be started, the call is not watched.
pub(super) fn watched<T>(call: &'static str, make: impl FnOnce() -> T) -> T {
    let (tell, ended) = channel::<()>();
    let call_timeout = call_timeout();
    let watch = move || {
        if ended.recv_timeout(call_timeout) == Err(RecvTimeoutError::Timeout) {
            give_up(call, call_timeout);
        }
    };
    let _watch = thread::Builder::new().name("mpi watch".to_owned()).spawn(watch);
    let result = make();
    drop(tell);
    result
}

fn call_timeout() -> Duration {
    let text = std::env::var(VARIABLE).ok();
    let seconds = text.and_then(|text| text.parse().ok()).filter(|seconds| 0.0 < *seconds);
    seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or(CALL_TIMEOUT)
}

fn give_up(call: &str, call_timeout: Duration) {
    // If the message cannot be written, the exit code still shows it.
    let _written = writeln!(
        std::io::stderr(),
        "`{call}` did not return within {} s because other ranks did not call it; check that \
         all of them are running, or set {VARIABLE} to more seconds. This process ends with code {EXIT_STUCK}.",
        call_timeout.as_secs_f64()
    );
    // SAFETY: ends the process at once; exit functions would wait for the same call.
    unsafe { libc::_exit(EXIT_STUCK) }
}
