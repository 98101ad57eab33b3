//! `sintonia node auto --status` and `--stop`: what the controller did, and its end.

use super::AutoOptions;
use super::preparation::FOLDER;
use super::record::{self, Record};
use super::slurm;
use crate::requests::now_ms;
use anyhow::Context;
use display::units::plural;
use node_demand::{Job, Jobs, Stage};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use user_io::exit::{NotWritten, Refused};
use user_io::print::{result, warn};

/// Longest time for a controller to end: it may be waiting for Slurm.
const ENDS_WITHIN: Duration = Duration::from_secs(90);
/// Most entries that are shown.
const N_SHOWN: usize = 10;

/// Prints the jobs, what was done last, and why nothing is done now.
pub(super) fn show(options: &AutoOptions) -> anyhow::Result<ExitCode> {
    let folder = folder(options)?;
    let record = read(&folder)?;
    let controller = record::holder(&folder);
    if options.json {
        let mut json = serde_json::to_value(&record)?;
        json["controller"] = json!(controller);
        return result(&format!("{json:#}\n"));
    }
    let now_ms = now_ms();
    let ago = |at_ms: u64| {
        let ms = u32::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(u32::MAX);
        match ms / 1000 {
            s @ 0..120 => format!("{s} s ago"),
            s @ 120..7200 => format!("{} min ago", s / 60),
            s => format!("{} h ago", s / 3600),
        }
    };
    let mut text = match controller {
        Some(pid) => format!(
            "The controller (process {pid}) looked {}; nothing is submitted now: {}.\n",
            ago(record.looked_ms),
            record.why
        ),
        None => "No controller is at work: `sintonia node auto --slurm` starts one.\n".to_owned(),
    };
    text += &format!("{} in {}\n", plural(record.jobs.0.len(), "job"), folder.display());
    let line = |job: &Job| {
        let id = job.id.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let log = folder.join(format!("job-{id}.log"));
        let log = if log.exists() { format!("  {}", log.display()) } else { String::new() };
        let (prefix, slot) = (&record.node_prefix, job.slot);
        format!(
            "  {prefix}{slot}  job {id}  {}, {}  {}{log}\n",
            stage(job),
            ago(job.since_ms),
            job.place
        )
    };
    text += &record.jobs.0.iter().map(line).collect::<String>();
    let entries = record.entries.iter().rev().take(N_SHOWN);
    let entries: String = entries
        .map(|entry| format!("  {}: {}\n", ago(entry.at_ms), entry.sentence(&record.node_prefix)))
        .collect();
    if !entries.is_empty() {
        text += &format!("Last events:\n{entries}");
    }
    result(&text)
}

fn stage(job: &Job) -> &'static str {
    match job.stage {
        Stage::Asked => "asked for",
        Stage::Pending => "waits",
        Stage::Running if job.has_joined => "runs",
        Stage::Running => "starts",
        Stage::Leaving => "leaves",
        Stage::Ending => "ends",
    }
}

/// Ends the controller, and its jobs if that is asked for.
pub(super) fn stop(options: &AutoOptions) -> anyhow::Result<ExitCode> {
    let folder = folder(options)?;
    let record = read(&folder)?;
    let pid = record::holder(&folder).and_then(Pid::from_raw);
    match pid {
        None => warn("no controller is at work"),
        // If it has just ended, that is what was asked for.
        Some(pid) => kill_process(pid, Signal::TERM).unwrap_or_default(),
    }
    let lock = record::lock(&folder, ENDS_WITHIN)
        .map_err(|error| Refused.because(format!("the controller does not end: {error}")))?;
    if options.with_jobs {
        end_jobs(&folder, &record.job_prefix)?;
    }
    drop(lock);
    Ok(ExitCode::SUCCESS)
}

/// Makes daemons leave, and cancels jobs that have none.
fn end_jobs(folder: &Path, job_prefix: &str) -> anyhow::Result<()> {
    let failed = |error: slurm::SlurmError| Refused.because(error.sentence().to_owned());
    // The controller may have written since.
    let mut record = read(folder)?;
    let queue = slurm::queue(job_prefix).map_err(failed)?;
    record.jobs.update(&queue, now_ms());
    let n_nodes = record.n_nodes_per_job;
    let Jobs(jobs) = &mut record.jobs;
    for job in jobs.iter_mut() {
        let Some(id) = job.id else { continue };
        match job.has_joined && job.stage == Stage::Running {
            true => slurm::leave(id, n_nodes),
            false => slurm::cancel(id),
        }
        .map_err(failed)?;
        job.stage = Stage::Leaving;
    }
    warn(&format!("{} told to end", plural(jobs.len(), "job")));
    record.write(folder).context(NotWritten)
}

fn folder(options: &AutoOptions) -> anyhow::Result<PathBuf> {
    let folder = options.state.running().folder()?.join(FOLDER);
    if folder.is_dir() {
        return Ok(folder.canonicalize()?);
    }
    let why = format!(
        "there was no controller in `{}` yet: `sintonia node auto --slurm` starts one",
        folder.display()
    );
    Err(Refused.because(why).into())
}

fn read(folder: &Path) -> anyhow::Result<Record> {
    Record::read(folder).map_err(|error| {
        let why =
            format!("`auto.json` in `{}` cannot be read ({error}): remove it", folder.display());
        Refused.because(why).into()
    })
}
