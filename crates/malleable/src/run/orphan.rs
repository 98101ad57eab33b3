//! A process that was started by another one, and has not joined it yet, ends when that one is gone.
//!
//! The launcher of Open MPI 5 ends all that it has started when a rank dies, and forgets processes that begin at that moment now
//! and then (in 8 of 45 runs of the faults in `tests/it/resizing.rs`): they would wait in `MPI_Init` for ever, and the launcher for them.

use crate::spawn::{place, started_by};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// Between two looks.
const NAP: Duration = Duration::from_millis(500);

/// Watches as long as it lives, where there is anybody to watch.
#[derive(Debug)]
pub(super) struct Orphan {
    /// Its end is that of the watch.
    _alive: Option<Sender<()>>,
}

impl Orphan {
    /// Watches who has started this process, where that can be seen from here.
    pub(super) fn watch() -> Self {
        let starter = started_by().filter(|(at, _)| *at == place());
        let Some((_, pid)) = starter else { return Self { _alive: None } };
        let entry = format!("/proc/{pid}");
        let (alive, ended) = channel::<()>();
        let watch = move || {
            while ended.recv_timeout(NAP) == Err(RecvTimeoutError::Timeout) {
                if !Path::new(&entry).exists() {
                    give_up();
                }
            }
        };
        // Without a thread nobody watches.
        let thread = Builder::new().name("orphan".to_owned()).spawn(watch);
        Self { _alive: thread.is_ok().then_some(alive) }
    }
}

fn give_up() {
    // Who does not hear it sees the code.
    let _written = writeln!(
        std::io::stderr(),
        "the process that has started this one is gone before this one could join it; this process ends."
    );
    std::process::abort();
}
