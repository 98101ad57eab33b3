//! Entering one process, in a process of its own, out of the terminal's reach: Ctrl-C in the middle is for
//! `sintonia attach`, which then leaves in order. Killed, it leaves the process to go on by itself (`inject`).

use crate::exit::NotAttached;
use anyhow::{Context, anyhow};
use clap::Args;
use inject::{Call, inject};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The probe's entrance.
const ENTRANCE: &str = "sintonia_attach";

/// Load the probe into a process; started by `sintonia attach`
#[derive(Args, Debug)]
pub(crate) struct EnterOptions {
    pid: i32,
    library: PathBuf,
}

/// Enters a process with the options on standard input; what its entrance returned goes to standard output.
pub(crate) fn serve(options: &EnterOptions) -> anyhow::Result<ExitCode> {
    // Fails for the leader of a group, who then is out of a terminal's reach already.
    rustix::process::setsid().ok();
    let mut argument = String::new();
    std::io::stdin().read_to_string(&mut argument)?;
    let call = Call { library: &options.library, function: ENTRANCE, argument: &argument };
    let returned = inject(options.pid, call).context(NotAttached)?;
    // Nobody may be left to read it.
    writeln!(std::io::stdout(), "{returned}").ok();
    Ok(ExitCode::SUCCESS)
}

/// Has process `pid` entered; what its entrance returned.
pub(super) fn enter(pid: i32, library: &Path, options: &str) -> anyhow::Result<i32> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("enter").arg(pid.to_string()).arg(library).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("this program cannot be started once more")?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(options.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().map_err(|_| {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        let reason = reason.trim().trim_start_matches("sintonia: ");
        anyhow!("{}", reason.trim_start_matches(&format!("{NotAttached}: ")).to_owned())
    })
}
