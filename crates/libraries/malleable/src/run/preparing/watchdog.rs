//! Watchdog: ends the program when the library never returns from starting processes, and blocks all other calls
//! meanwhile.
//!
//! MPICH keeps its lock while it starts processes: if these never come, the program hangs in its next call, and this
//! process cannot do anything about it. The launcher then ends the others.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// Number of deadlines without a resize point after which the program counts as stuck.
const N_DEADLINES: u32 = 4;

/// Heartbeat value that suspends the watch: there are no resize points for a while, however long.
pub(in crate::run) const NOBODY_WATCHES: u64 = u64::MAX;

/// Watch of the resize points, until it is dropped.
#[derive(Debug)]
pub(in crate::run) struct Watchdog {
    /// Sender whose drop ends the watch.
    _alive: Option<Sender<()>>,
}

impl Watchdog {
    /// Starts the watch; as long as there are resize points, the program is not stuck.
    pub(in crate::run) fn start(deadline: Duration, heartbeat: &Arc<AtomicU64>) -> Self {
        let (alive, ended) = channel::<()>();
        let heartbeat = Arc::clone(heartbeat);
        let watch = move || {
            loop {
                let before = heartbeat.load(Ordering::Relaxed);
                let end = ended.recv_timeout(N_DEADLINES * deadline);
                if end != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let now = heartbeat.load(Ordering::Relaxed);
                if now == before && now != NOBODY_WATCHES {
                    give_up(N_DEADLINES * deadline);
                }
            }
        };
        // If the thread cannot be started, there is no watch.
        let thread = Builder::new().name("watchdog".to_owned()).spawn(watch);
        Self { _alive: thread.is_ok().then_some(alive) }
    }
}

fn give_up(waited: Duration) {
    // Without standard error, the exit code shows it.
    let _written = writeln!(
        std::io::stderr(),
        "processes were to be started or joined, and nothing has happened for {} s: the MPI library does not return. \
         This process ends; start the program anew.",
        waited.as_secs_f64()
    );
    std::process::abort();
}
