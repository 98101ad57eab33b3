//! Reasons for which a daemon leaves by itself: signals, and nothing to do.

use clap::Args;
use node_daemon::client_socket::Client;
use node_daemon::daemon::Stopper;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use task_api::{ClientRequest, DaemonAnswer, NodeStatus};
use user_io::option_value::seconds;
use user_io::print::warn;

/// Longest time between two looks at what a daemon does.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Options for leaving.
#[derive(Args, Debug)]
#[command(next_help_heading = "Leaving")]
pub(super) struct LeaveOptions {
    /// After Ctrl-C or SIGTERM, wait for the tasks that run here for at most this long, and end them then: those of other
    /// nodes run elsewhere, its own when it is started again
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| seconds(text, 0.0..=1e9))]
    leave_within: Option<f64>,
    /// Leave when nothing has run or waited here for this long
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| seconds(text, 0.1..=1e9))]
    leave_when_idle: Option<f64>,
}

impl LeaveOptions {
    /// Starts what makes the daemon of this folder leave.
    pub(super) fn watch(&self, stopper: &Stopper, folder: &Path) -> anyhow::Result<()> {
        let within = self.leave_within.map(Duration::from_secs_f64);
        leave_by_signals(stopper.clone(), within)?;
        if let Some(idle) = self.leave_when_idle.map(Duration::from_secs_f64) {
            let (stopper, folder) = (stopper.clone(), folder.to_owned());
            let builder = thread::Builder::new().name("idle".to_owned());
            builder.spawn(move || leave_when_idle(&stopper, &folder, idle))?;
        }
        Ok(())
    }
}

/// Makes the first signal wait for the running tasks, and the second one end them.
fn leave_by_signals(stopper: Stopper, within: Option<Duration>) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for (n_before, _) in signals.forever().enumerate() {
            if n_before == 0 {
                warn("leaving when the tasks that run here have ended; the next signal ends them");
                end_later(&stopper, within);
            }
            stopper.stop(0 < n_before);
        }
    })?;
    Ok(())
}

/// Ends the tasks that run after some time.
fn end_later(stopper: &Stopper, within: Option<Duration>) {
    let Some(within) = within else { return };
    let late = stopper.clone();
    let started = thread::Builder::new().name("end".to_owned()).spawn(move || {
        thread::sleep(within);
        late.stop(true);
    });
    if started.is_err() {
        stopper.stop(true);
    }
}

/// Stops the daemon when it has been idle for this long.
fn leave_when_idle(stopper: &Stopper, folder: &Path, idle: Duration) {
    let mut since = None;
    loop {
        since = is_idle(folder).then(|| since.unwrap_or_else(Instant::now));
        if since.is_some_and(|since| idle <= since.elapsed()) {
            warn(&format!("leaving: there was nothing to do for {:.0} s", idle.as_secs_f64()));
            return stopper.stop(false);
        }
        thread::sleep((idle / 4).min(LOOKS_EVERY));
    }
}

/// Returns whether the daemon of the folder answers, and neither runs a task nor has one that waits.
fn is_idle(folder: &Path) -> bool {
    let Ok(mut client) = Client::connect(folder) else { return false };
    let own = client.node().to_owned();
    let Ok(DaemonAnswer::Nodes { nodes }) = client.ask(&ClientRequest::Nodes) else { return false };
    nodes.iter().any(|node| node.node == own && has_nothing_to_do(node))
}

/// Returns whether a node neither runs a task nor has one that waits, here or elsewhere.
fn has_nothing_to_do(node: &NodeStatus) -> bool {
    node.n_running == 0 && node.n_queued == 0 && node.n_leased == 0
}
