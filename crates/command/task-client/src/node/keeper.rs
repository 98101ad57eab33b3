//! Processes beside a daemon that hold its tasks; the daemon starts them.

use clap::Args;
use node_daemon::keeper;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Hold the tasks of a daemon; started by it
#[derive(Args, Debug)]
pub(crate) struct KeeperOptions {
    /// Folder of the daemon's state
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
}

/// Keeps tasks until the keeper is no longer needed.
pub(super) fn serve(options: &KeeperOptions) -> anyhow::Result<ExitCode> {
    let guard = words("guard", &options.state);
    keeper::serve(keeper::KeeperOptions::new(options.state.clone(), guard))?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end of a keeper; kills the tasks of one that was killed.
pub(super) fn guard(options: &KeeperOptions) -> anyhow::Result<ExitCode> {
    keeper::guard(&options.state);
    Ok(ExitCode::SUCCESS)
}

/// Arguments of this program that start a keeper or a guard.
pub(super) fn words(name: &str, state: &Path) -> Vec<OsString> {
    ["node", name, "--state"].map(OsString::from).into_iter().chain([state.into()]).collect()
}
