//! `sintonia collector`: the collector of a node as a process of its own.

use clap::Args;
use collector::{Collector, RunEnvironment};
use std::process::{Command, ExitCode, Stdio};
use user_io::exit::Failure;
use user_io::terminal::Terminal;

/// Exit code that tells the supervisor that another collector serves this node.
pub(crate) const ANOTHER_COLLECTS: u8 = 3;
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
    // Standard error may be that of a rank, so that a failure has its exit code alone.
    let outcome = if options.detach { detach() } else { collect_here() };
    Ok(outcome.unwrap_or(Failure::Other.into()))
}

/// Starts the collector as an orphan: the caller waits for the present process only.
fn detach() -> anyhow::Result<ExitCode> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("collector").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()?;
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
