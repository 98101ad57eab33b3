//! `sintonia doctor`: checks this machine, and names the cost and the remedy of everything that is missing.
//!
//! Each check looks at one thing and judges it in a pure function of the text it found, so that judgments are tested on
//! any machine.
//!
//! # Not here
//! Whether a given program can be watched: `sintonia run` says it.

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

mod check;
mod commands;
mod dynamic;
mod limits;
mod mpi;
pub mod netbench;
mod privileges;
mod processor;
mod slurm;
mod tools;

use anyhow::Context;
use check::{Check, one_json, render};
use clap::Args;
use dynamic::LauncherReport;
pub use dynamic::rank;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia doctor
  sintonia doctor --quick                                 what can be seen without starting a job
  sintonia doctor -- /opt/openmpi-5/bin/mpirun --host a:2,b:2";

/// Check what this machine offers, what is missing, and what that costs
///
/// Checks MPI libraries, the clock, permissions, limits, Slurm and tools; changes nothing. With each MPI launcher, a
/// tiny job tries to start, join and release processes while a program runs; a job that hangs is ended.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Start no jobs
    #[arg(long, conflicts_with = "launcher")]
    quick: bool,
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
    /// Try jobs with this launcher and its options only, instead of all in `PATH`
    #[arg(last = true, value_name = "LAUNCHER")]
    launcher: Vec<OsString>,
}

/// Examines this machine and prints what was found.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let checks = examine();
    let tried = try_launchers(options)?;
    let text = if options.json {
        let tried = tried.iter().map(|tried| tried.json(one_json(&tried.check())));
        format!("{:#}\n", checks.iter().map(one_json).chain(tried).collect::<Value>())
    } else {
        let color = terminal.stdout_style().color;
        let of_launchers = tried.iter().map(LauncherReport::check);
        let all: Vec<Check> = checks.into_iter().chain(of_launchers).collect();
        let details = tried.iter().map(|tried| tried.render(color));
        render(&all, color) + &details.collect::<String>()
    };
    user_io::print::result(&text)
}

/// Tries the launcher that is named, or all that are in `PATH`.
fn try_launchers(options: &Options) -> anyhow::Result<Vec<LauncherReport>> {
    let Some((launcher, words)) = options.launcher.split_first() else {
        let launchers = if options.quick { Vec::new() } else { mpi::launchers() };
        return launchers.into_iter().map(|launcher| dynamic::attempt(launcher, &[])).collect();
    };
    let path = Path::new(launcher);
    let path = if path.components().count() == 1 {
        commands::find(&launcher.to_string_lossy()).context("no such launcher in PATH")?
    } else {
        path.to_owned()
    };
    let launcher = mpi::Launcher::at(&path)
        .with_context(|| format!("`{}` is not a launcher of Open MPI or MPICH", path.display()))?;
    Ok(vec![dynamic::attempt(launcher, words)?])
}

/// Runs all checks.
fn examine() -> Vec<Check> {
    let mut checks = vec![tools::probe()];
    checks.extend(mpi::libraries());
    checks.extend(processor::checks());
    checks.extend(privileges::checks());
    checks.extend(limits::checks());
    checks.extend(slurm::checks());
    checks.extend(dynamic::leftovers::check());
    checks.extend(tools::checks());
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use check::CheckResult;

    #[test]
    fn examining_this_machine_names_every_thing_once() {
        let checks = examine();
        for name in ["probe", "clock", "shared memory", "attach", "slurm"] {
            assert_eq!(checks.iter().filter(|check| check.name == name).count(), 1, "{name}");
        }
        for check in checks.iter().filter(|check| check.state != CheckResult::Ok) {
            assert!(!check.costs.is_empty() && !check.remedy.is_empty(), "{check:?}");
        }
    }
}
