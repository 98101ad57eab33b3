//! Checks in the background that end this process when it cannot continue.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// Check that a thread repeats until this is dropped.
#[derive(Debug)]
pub(crate) struct RepeatedCheck {
    /// Sender whose drop ends the thread; `None` if there is no thread.
    _alive: Option<Sender<()>>,
}

impl RepeatedCheck {
    /// Never checks.
    pub(crate) const NONE: Self = Self { _alive: None };

    /// Repeats `check` after every `interval`, in a thread of this name. If the thread cannot be started, nothing is
    /// checked.
    pub(crate) fn start(
        name: &str,
        interval: Duration,
        mut check: impl FnMut() + Send + 'static,
    ) -> Self {
        let (alive, ended) = channel::<()>();
        let repeat = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                check();
            }
        };
        let thread = Builder::new().name(name.to_owned()).spawn(repeat);
        Self { _alive: thread.is_ok().then_some(alive) }
    }
}

/// Ends this process at once, with this line on standard error.
pub(crate) fn give_up(why: &str) -> ! {
    // Without standard error, the exit code shows it.
    let _written = writeln!(std::io::stderr(), "{why}");
    std::process::abort();
}
