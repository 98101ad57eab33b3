//! `sintonia collector`: the collector of a node as a process of its own.

use clap::Args;
use collector::{Collector, RunEnvironment, place};
use server::wait_until;
use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use user_io::exit::Failure;
use user_io::terminal::Terminal;

/// Exit code that tells the supervisor that another collector serves this node.
const ANOTHER_COLLECTS: u8 = 3;
/// Niceness of the collector, so that ranks on a fully used node come first.
const NICENESS: i32 = 5;

/// Send what ranks on this node record to the analyzer; started by `sintonia run` and by ranks
#[derive(Args, Debug)]
pub struct Options {
    /// Run in the background, without a parent
    #[arg(long)]
    detach: bool,
}

/// Collects until no rank needs it, or, with `--detach`, starts a collector that does.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    // Standard error may be that of a rank: a failure has its exit code alone.
    let outcome = if options.detach { detach() } else { collect_here() };
    Ok(outcome.unwrap_or(Failure::Other.into()))
}

/// Starts the collector as an orphan: the caller waits for the present process only.
fn detach() -> anyhow::Result<ExitCode> {
    command()?.spawn()?;
    Ok(ExitCode::SUCCESS)
}

fn collect_here() -> anyhow::Result<ExitCode> {
    // Fails for the leader of a process group, which the terminal does not reach anyway.
    rustix::process::setsid().ok();
    // On failure the collector only competes more with the ranks.
    rustix::process::nice(NICENESS).ok();
    let environment = RunEnvironment::from_variables(|name| std::env::var_os(name))?;
    match Collector::take(&environment, collector::CollectorOptions::default())? {
        Some(collector) => {
            collector.run();
            Ok(ExitCode::SUCCESS)
        }
        None => Ok(ExitCode::from(ANOTHER_COLLECTS)),
    }
}

/// Most starts; a collector that ends each time is given up.
const N_STARTS_MAX: u32 = 8;
/// Time before a killed collector is replaced.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for the collector to end after the run.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Collector and the thread that restarts it.
#[derive(Debug)]
pub(crate) struct LocalCollector {
    run_is_over: Arc<AtomicBool>,
    supervisor: JoinHandle<()>,
}

impl LocalCollector {
    /// Starts the collector of this node.
    pub(crate) fn start(
        variables: &[(String, OsString)],
        starter: &'static str,
    ) -> io::Result<Self> {
        let run_is_over = Arc::new(AtomicBool::new(false));
        let (is_over, of_thread) = (Arc::clone(&run_is_over), variables.to_vec());
        let (hand_over, first) = sync_channel(1);
        // First, so that no collector is without a supervising thread.
        let thread = Builder::new().name("collector".to_owned());
        let supervisor = thread.spawn(move || {
            if let Ok(child) = first.recv() {
                supervise(child, &of_thread, (starter, &is_over));
            }
        })?;
        // The thread waits for the collector.
        hand_over.send(spawn(variables, starter)?).ok();
        Ok(Self { run_is_over, supervisor })
    }

    /// Waits a short time for the collector's end after the run. A collector that lost its connection stays until its
    /// processes have ended, and is left alone.
    pub(crate) fn shut_down(self) {
        self.run_is_over.store(true, Ordering::SeqCst);
        wait_until(Instant::now() + SHUTDOWN_TIMEOUT, || self.supervisor.is_finished());
    }
}

fn supervise(
    mut child: Child,
    variables: &[(String, OsString)],
    (starter, run_is_over): (&str, &AtomicBool),
) {
    for _start in 1..N_STARTS_MAX {
        if !ends_too_early(&mut child, run_is_over) {
            return;
        }
        match spawn(variables, starter) {
            Ok(next) => child = next,
            Err(_) => return,
        }
    }
}

fn spawn(variables: &[(String, OsString)], starter: &str) -> io::Result<Child> {
    let environment = variables.iter().filter(|(name, _)| name != place::PRELOAD);
    let mut command = command()?;
    command.envs(environment.cloned()).env(place::STARTED_BY, starter).spawn()
}

/// Command that starts a collector apart from the terminal and from files of the user.
fn command() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("collector").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

/// Waits for the collector's end; returns whether another one is needed then.
fn ends_too_early(child: &mut Child, run_is_over: &AtomicBool) -> bool {
    let Ok(status) = child.wait() else { return false };
    let is_done = status.success() || status.code() == Some(ANOTHER_COLLECTS.into());
    if is_done || run_is_over.load(Ordering::SeqCst) {
        return false;
    }
    std::thread::sleep(PAUSE);
    !run_is_over.load(Ordering::SeqCst)
}
