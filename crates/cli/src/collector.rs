//! `sintonia collector`: a node's collector as a process of its own.

use crate::arguments::CollectorOptions;
use crate::exit::code_of;
use analyzer::{Collector, Place};
use std::process::{Command, ExitCode, Stdio};

/// The collector's answer to its supervisor: another one has the node.
pub(crate) const ANOTHER_COLLECTS: u8 = 3;
/// Politeness towards ranks on a full node.
const NICENESS: i32 = 5;

/// Collects until nobody needs it, or starts who does.
pub(crate) fn collect(options: &CollectorOptions) -> ExitCode {
    let outcome = if options.detach { detach() } else { collect_here() };
    outcome.unwrap_or_else(|error| code_of(&error))
}

/// Starts the collector without parent: the one who called us waits only for us.
fn detach() -> anyhow::Result<ExitCode> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("collector").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()?;
    Ok(ExitCode::SUCCESS)
}

fn collect_here() -> anyhow::Result<ExitCode> {
    // Fails for the leader of a process group, who then is out of a terminal's reach already.
    rustix::process::setsid().ok();
    // Without it, it only competes more.
    rustix::process::nice(NICENESS).ok();
    let place = Place::from_variables(|name| std::env::var_os(name))?;
    match Collector::take(&place, analyzer::CollectorOptions::default())? {
        Some(collector) => {
            collector.run();
            Ok(ExitCode::SUCCESS)
        }
        None => Ok(ExitCode::from(ANOTHER_COLLECTS)),
    }
}
