//! Watch of the parent: a process that was started by another one, and has not joined it yet, ends when that one is gone.
//!
//! The launcher of Open MPI 5 ends all that it has started when a rank dies, but sometimes forgets processes that begin
//! at that moment (in 8 of 45 runs of the faults in `tests/it/resizing.rs`): they would wait in `MPI_Init` forever, and
//! the launcher for them.

use crate::spawn::{place, started_by};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// Time between two checks.
const NAP: Duration = Duration::from_millis(500);

/// Watch for the end of the parent process, until it is dropped.
#[derive(Debug)]
pub(super) struct ParentWatch {
    /// Sender whose drop ends the watch.
    _alive: Option<Sender<()>>,
}

impl ParentWatch {
    /// Watches the process that started this one, if it is visible from here.
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
        // If the thread cannot be started, there is no watch.
        let thread = Builder::new().name("orphan".to_owned()).spawn(watch);
        Self { _alive: thread.is_ok().then_some(alive) }
    }
}

fn give_up() {
    // Without standard error, the exit code shows it.
    let _written = writeln!(
        std::io::stderr(),
        "the process that has started this one is gone before this one could join it; this process ends."
    );
    std::process::abort();
}
