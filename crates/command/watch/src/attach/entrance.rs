//! Loads the probe into one process, from a child process that the terminal does not reach: Ctrl-C meanwhile goes to
//! `sintonia attach`, which then leaves in order. If the child is killed, the process it was entering goes on by itself
//! (`inject`).

use anyhow::{Context, anyhow};
use clap::Args;
use inject::{CallInProcess, inject};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use user_io::exit::NotAttached;
use user_io::terminal::Terminal;

/// Function of the probe that is called in the entered process.
const ENTRANCE: &str = "sintonia_attach";

/// Load the probe into a process; started by `sintonia attach`
#[derive(Args, Debug)]
pub struct Options {
    pid: i32,
    library: PathBuf,
}

/// Enters a process with the options read from standard input; prints what the probe's entrance returned.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    // Fails for the leader of a process group, which the terminal does not reach anyway.
    rustix::process::setsid().ok();
    let mut argument = String::new();
    std::io::stdin().read_to_string(&mut argument)?;
    let call = CallInProcess { library: &options.library, function: ENTRANCE, argument: &argument };
    let returned = inject(options.pid, call).context(NotAttached)?;
    // The reader, `sintonia attach`, may have ended.
    writeln!(std::io::stdout(), "{returned}").ok();
    Ok(ExitCode::SUCCESS)
}

/// Enters process `pid` by way of a child process; returns what the probe's entrance returned.
pub(super) fn enter(pid: i32, library: &Path, options: &str) -> anyhow::Result<i32> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("enter").arg(pid.to_string()).arg(library).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start another process of `sintonia`")?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(options.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.trim().parse().map_err(|_| {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        let reason = reason.trim().trim_start_matches("sintonia: ");
        anyhow!("{}", reason.trim_start_matches(&format!("{NotAttached}: ")).to_owned())
    })
}
