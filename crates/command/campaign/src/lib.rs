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
mod next;
mod picture;
pub mod run_command;
mod series;

use anyhow::{Context, ensure};
use clap::Args;
use experiment::journal::{CompletedRun, Journal};
use experiment::plan::EXAMPLE;
use experiment::schedule::{self, ScheduledRun, TimeEstimator};
use experiment::{GridPoint, Plan};
use folder::{Folder, HOLDOUT, MEASURED};
use next::{NextOptions, NextPoints};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::bounded_read;
use user_io::print::result;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia experiment --example > plan.toml
  sintonia experiment plan.toml --dry-run
  sintonia experiment plan.toml -o measured
  sintonia experiment plan.toml -o measured --next 4 --target p=1024 --budget 20
  sintonia fit measured

A plan has the command, such as `mpirun -n {p + 1} ./program {size}`, and the values of `size` and
`p`. Ctrl-C ends the current run; the same command then does the remaining ones.

The folder gets `measurements.jsonl` and `holdout.jsonl` (JSON Lines as Extra-P reads them: a line for each run,
region and metric), `experiment.json` (the plan, the machine, its noise, the runs) and `progress.svg`, a picture of the
times that grows with every run.

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
    #[command(flatten)]
    next: NextOptions,
}

/// Does the remaining runs of an experiment.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let Some(path) = options.plan.as_deref().filter(|_| !options.example) else {
        return result(EXAMPLE);
    };
    let mut prepared = Prepared::read(path).with_context(|| format!("`{}`", path.display()))?;
    let dir = options.output.clone().unwrap_or_else(|| default_folder(path));
    if options.dry_run {
        let earlier = Folder::look(&dir, &prepared.plan)?;
        let journal = earlier.unwrap_or_else(|| Journal::new(prepared.plan.clone()));
        let next = NextPoints::choose(&options.next, &prepared, &journal, &dir)?;
        prepared.only = next.as_ref().map(NextPoints::indices);
        return result(&dry_run(&prepared, &journal, next.as_ref(), options.json)?);
    }
    let mut folder = Folder::open(&dir, &prepared.plan, options.fresh)?;
    let chosen = NextPoints::choose(&options.next, &prepared, &folder.journal, &folder.dir)?;
    if let Some(next) = chosen {
        prepared.only = Some(next.indices());
        if !options.json {
            result(&(next.text() + "\n"))?;
        }
    }
    let stopped = series::run(&prepared, &mut folder, options.keep_records)?;
    result(&summary(&prepared, &folder, options.json)?)?;
    if let Some(signal) = stopped {
        return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
    }
    let n_failed = folder.journal.failed.len();
    let failed = display::units::plural(n_failed, "run");
    ensure!(n_failed == 0, "{failed} failed; the same command tries again");
    Ok(ExitCode::SUCCESS)
}

/// Default folder: in the current one, named after the plan.
fn default_folder(plan: &Path) -> PathBuf {
    let mut name = plan.file_stem().unwrap_or_default().to_owned();
    name.push("-measured");
    name.into()
}

/// Lists the runs that are left, in their order, and how long they take.
fn dry_run(
    prepared: &Prepared,
    journal: &Journal,
    next: Option<&NextPoints>,
    as_json: bool,
) -> anyhow::Result<String> {
    let Prepared { plan, points, runs, .. } = prepared;
    let left = prepared.left(journal);
    let estimate_s = prepared.pace(&journal.runs).remaining_s(&left);
    if as_json {
        let each = left.iter().map(|run| {
            let GridPoint { parameters, is_holdout, .. } = &points[run.point];
            let words = plan.words(&points[run.point], Some("SCRIPT"))?;
            Ok(json!({ "params": parameters, "holdout": is_holdout, "repetition": run.repetition, "command": words }))
        });
        let each = each.collect::<anyhow::Result<Vec<_>>>()?;
        let mut all = json!({ "n_runs": runs.len(), "runs": each, "estimate_s": estimate_s });
        if let Some(next) = next {
            all["next"] = next.as_json();
        }
        return Ok(format!("{all:#}\n"));
    }
    let mut text = next.map_or_else(String::new, |next| next.text() + "\n");
    for (idx, run) in left.iter().enumerate() {
        let point = &points[run.point];
        let kept = if point.is_holdout { "  (kept from fitting)" } else { "" };
        let words = plan.words(point, Some("SCRIPT"))?.join(" ");
        writeln!(text, "{:>5}  {words}{kept}", idx + 1)?;
    }
    let time = match estimate_s {
        Some(time_s) if time_s < 60.0 => format!("about {:.0} s", time_s.max(1.0)),
        Some(time_s) => format!("about {}", display::units::seconds(time_s)),
        None => "unknown until runs are done, unless the plan has `expected_s`".to_owned(),
    };
    let (n_left, n_runs, n_points) = (left.len(), runs.len(), points.len());
    writeln!(text, "{n_left} of {n_runs} runs at {n_points} points are left; time: {time}")?;
    Ok(text)
}

/// Says what was done, and how to go on.
fn summary(prepared: &Prepared, folder: &Folder, as_json: bool) -> anyhow::Result<String> {
    let journal = &folder.journal;
    let (n_runs, n_done, n_failed) =
        (prepared.runs.len(), journal.runs.len(), journal.failed.len());
    let n_left = n_runs - n_done.min(n_runs);
    let warning = journal.noise.and_then(|noise| noise.warning());
    let file = |name: &str| Some(folder.dir.join(name)).filter(|path| path.exists());
    if as_json {
        let all = json!({
            "folder": folder.dir,
            "measurements": file(MEASURED),
            "holdout": file(HOLDOUT),
            "n_runs": n_runs,
            "n_done": n_done,
            "n_failed": n_failed,
            "n_left": n_left,
            "failed": journal.failed,
            "environment": journal.environment,
            "noise": journal.noise,
            "warnings": warning.into_iter().collect::<Vec<_>>(),
        });
        return Ok(format!("{all:#}\n"));
    }
    let mut text = format!("{n_done} of {n_runs} runs are done");
    if 0 < n_failed {
        write!(text, ", {n_failed} failed")?;
    }
    let points = |is_holdout: bool| {
        let runs = journal.runs.iter().filter(|done| done.is_holdout == is_holdout);
        let keys = runs.map(|done| format!("{:?}", done.params)).collect::<BTreeSet<_>>();
        keys.len()
    };
    writeln!(text, "; {} points to fit, {} to validate", points(false), points(true))?;
    if let Some(noise) = journal.noise {
        let [median, most] = [noise.median_above, noise.most_above].map(|share| 100.0 * share);
        writeln!(
            text,
            "noise: the same work took {median:.1} % longer than the best time in the median, {most:.1} % at the 90th percentile"
        )?;
    }
    warning.iter().try_for_each(|warning| writeln!(text, "warning: {warning}"))?;
    let dir = folder.dir.display();
    if 0 < n_left {
        writeln!(text, "the same command does the remaining {n_left}")?;
    } else {
        writeln!(text, "next: sintonia fit {dir} -o models.json")?;
    }
    Ok(text)
}

/// An experiment before its first run.
struct Prepared {
    plan: Plan,
    points: Vec<GridPoint>,
    runs: Vec<ScheduledRun>,
    /// Folder of the plan, in which commands run.
    home: PathBuf,
    /// Points that are run; by default all.
    only: Option<BTreeSet<usize>>,
}

impl Prepared {
    /// Reads the plan in this file.
    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = bounded_read::read_text(path, bounded_read::WRITTEN_BYTES_MAX)
            .context("the plan cannot be read")?;
        let plan = Plan::read(&text)?;
        let points = plan.points()?;
        let runs = schedule::runs(points.len(), plan.repetitions, plan.seed);
        let path = std::path::absolute(path).context("the folder of the plan is not known")?;
        let home = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { plan, points, runs, home, only: None })
    }

    /// Runs that are left, of the points that are run.
    fn left(&self, journal: &Journal) -> Vec<ScheduledRun> {
        let mut left = journal.left(&self.points, &self.runs);
        left.retain(|run| self.only.as_ref().is_none_or(|only| only.contains(&run.point)));
        left
    }

    /// Pace of the runs so far, by point.
    fn pace(&self, runs: &[CompletedRun]) -> TimeEstimator {
        let mut pace = TimeEstimator::new(&self.plan, &self.points);
        for done in runs {
            let is_at = |point: &GridPoint| point.parameters == done.params;
            if let Some(at) = self.points.iter().position(is_at) {
                pace.add(at, done.wall_s);
            }
        }
        pace
    }
}
