//! `sintonia experiment`: runs a program over a grid of its parameters, and keeps the times of its regions.
//!
//! Each run is one of `sintonia run`, in a process of its own, so that a run that goes wrong does not harm the others.
//!
//! # Invariants
//! - The folder holds the measurements of a run completely or not at all, also after `kill -9`.
//! - A run that failed, or was interrupted, is never counted.
//!
//! # Not here
//! Plans, the order of runs, and what regions are: crate `experiment`. Models: `sintonia fit`.

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

mod calibration;
mod environment;
mod folder;
mod measured_run;
mod output;
mod prepared;
mod progress;
pub mod run_command;
mod series;

use anyhow::{Context, bail};
use clap::Args;
use experiment::journal::Journal;
use experiment::plan::EXAMPLE;
use folder::Folder;
use prepared::Prepared;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::print::result;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia experiment --example > plan.toml
  sintonia experiment plan.toml --dry-run
  sintonia experiment plan.toml -o measured
  sintonia fit measured

A plan has the command, such as `mpirun -n {p + 1} ./program {size}`, and the values of `size` and
`p`. Ctrl-C ends the current run; the same command then does the remaining ones.

The folder gets `measurements.jsonl` and `holdout.jsonl` (JSON Lines as Extra-P reads them: a line for each run,
region and metric) and `experiment.json` (the plan, the machine, its noise, the runs).

Exit codes: 0 when all runs are done; 2 when an option is wrong; 100 when runs failed or the plan is wrong; 102 when a
result could not be written; 128 + N when signal N came.";

/// Measure a program over its parameters
///
/// Runs the program at all points of a grid several times, in a random order, watches every run as `sintonia run` does,
/// and keeps the times of its regions for `sintonia fit`. The program's source is not touched.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "options are given or not")]
pub struct Options {
    /// Plan of the experiment
    #[arg(required_unless_present = "example", value_name = "PLAN.toml")]
    plan: Option<PathBuf>,
    /// Folder for the measurements; by default `PLAN-measured`
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Discard the experiment that the folder holds, and start over
    #[arg(long)]
    fresh: bool,
    /// List the runs and the time they will take; start nothing
    #[arg(long, conflicts_with = "fresh")]
    dry_run: bool,
    /// Keep the record of every run in the folder's `runs`
    #[arg(long)]
    keep_records: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Print a commented plan to start from
    #[arg(long, exclusive = true)]
    example: bool,
}

/// Does the remaining runs of an experiment.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let Some(path) = options.plan.as_deref().filter(|_| !options.example) else {
        return result(EXAMPLE);
    };
    let prepared = Prepared::read(path).with_context(|| format!("`{}`", path.display()))?;
    let dir = options.output.clone().unwrap_or_else(|| default_folder(path));
    if options.dry_run {
        let earlier = Folder::look(&dir, &prepared.plan)?;
        let journal = earlier.unwrap_or_else(|| Journal::new(prepared.plan.clone()));
        return result(&output::dry_run(&prepared, &journal, options.json)?);
    }
    let mut folder = Folder::open(&dir, &prepared.plan, options.fresh)?;
    let stopped = series::run(&prepared, &mut folder, options.keep_records)?;
    result(&output::result(&prepared, &folder, options.json)?)?;
    if let Some(signal) = stopped {
        return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
    }
    let n_failed = folder.journal.failed.len();
    if 0 < n_failed {
        let failed = display::units::plural(n_failed, "run");
        bail!("{failed} failed; the same command tries again");
    }
    Ok(ExitCode::SUCCESS)
}

/// Default folder: in the current one, named after the plan.
fn default_folder(plan: &Path) -> PathBuf {
    let mut name = plan.file_stem().unwrap_or_default().to_owned();
    name.push("-measured");
    name.into()
}
