//! Ends the program when the library lets nobody call while it starts processes, and never returns.
//!
//! MPICH keeps its lock while it starts processes: where these never come, the program stands still in its next call, and
//! nothing can be done in this process any more. The launcher then ends the others.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// An iteration may take that many deadlines before the program counts as stuck.
const N_DEADLINES: u32 = 4;

/// In place of a number of resize points: there are to be none for a while, as long as that may be.
pub(in crate::run) const NOBODY_WATCHES: u64 = u64::MAX;

/// Watches as long as it lives.
#[derive(Debug)]
pub(in crate::run) struct Watchdog {
    /// Its end is that of the watch.
    _alive: Option<Sender<()>>,
}

impl Watchdog {
    /// Nothing is wrong as long as there are resize points.
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
        // Without a thread nobody watches.
        let thread = Builder::new().name("watchdog".to_owned()).spawn(watch);
        Self { _alive: thread.is_ok().then_some(alive) }
    }
}

fn give_up(waited: Duration) {
    // Who does not hear it sees the code.
    let _written = writeln!(
        std::io::stderr(),
        "processes were to be started or joined, and nothing has happened for {} s: the MPI library does not return. \
         This process ends; start the program anew.",
        waited.as_secs_f64()
    );
    std::process::abort();
}
