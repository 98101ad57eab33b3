//! `sintonia resize`: lists the programs that may be resized, or gives one of them another size.

use crate::control::{StoredStatus, UserControl, request_id};
use anyhow::Context;
use clap::Args;
use display::table::Table;
use display::units::seconds;
use resize_api::{JobStatus, Resize, ResizeOutcome, ResizeRequest, ResizeState, Sizes};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use user_io::ensure_option;
use user_io::exit::{Explained, NoJob, NotResized, NotWritten};
use user_io::print::result;
use user_io::terminal::Terminal;

/// Time between two reads of the status.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  sintonia resize
  sintonia resize 4711 8
  sintonia resize node1-20833 2 --at-most 600
  sintonia resize --json | jq -r '.[] | select(.size < .sizes.max) | .job'

JOB is the number of the Slurm job, or HOST-PID without Slurm; the list shows it. Exit codes:
0 the program has the new size; 2 its `--sizes` exclude this size; 106 the resize failed, and the
message says why; 107 there is no such job, or it has ended.";

/// List malleable programs, or resize one
///
/// A malleable program takes the request at its next resize point, gets or gives back nodes, and goes on with its next
/// iteration. This command waits until that is done and shows where the time went.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Job to resize
    #[arg(requires = "size")]
    job: Option<String>,
    /// Number of ranks that it should have
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    size: Option<u32>,
    /// Longest time to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    at_most: u64,
    /// Print the jobs, or the result of the resize, as JSON
    #[arg(long)]
    json: bool,
    /// Folder of the programs' `--control`; by default `~/.sintonia/jobs`
    #[arg(long, value_name = "DIR")]
    control: Option<PathBuf>,
}

/// Lists, or resizes.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let control = UserControl::of(options.control.as_deref())?;
    match (&options.job, options.size) {
        (Some(job), Some(size)) => change(&control, job, size, options),
        _ => show(&control, options.json),
    }
}

fn show(control: &UserControl, json: bool) -> anyhow::Result<ExitCode> {
    let (stale, jobs): (Vec<StoredStatus>, Vec<StoredStatus>) =
        control.jobs().into_iter().partition(|job| job.is_stale);
    stale.iter().for_each(|job| control.remove_files(&job.status.job));
    let jobs: Vec<JobStatus> = jobs.into_iter().map(|job| job.status).collect();
    let text = match json {
        true => format!("{:#}\n", serde_json::to_value(&jobs)?),
        false => table(&jobs, control.folder()),
    };
    result(&text)
}

fn change(
    control: &UserControl,
    name: &str,
    size: u32,
    options: &Options,
) -> anyhow::Result<ExitCode> {
    let found = control.job(name).with_context(|| unknown(control, name))?;
    if found.is_stale {
        control.remove_files(name);
        let pid = found.status.pid;
        let why = format!(
            "the program of job `{name}` (process {pid}) was killed; its status file is removed"
        );
        return Err(NoJob.because(why).into());
    }
    let Sizes { min, max, .. } = found.status.sizes;
    ensure_option!(
        (min..=max).contains(&size),
        "job `{name}` runs with {min} to {max} ranks, not {size}, by its `--sizes`"
    );
    let request =
        ResizeRequest { id: request_id(), size, from: "person".to_owned(), hosts: Vec::new() };
    control.request(name, &request).context(NotWritten)?;
    let status = wait(control, name, &request, Duration::from_secs(options.at_most))?;
    let answer = status.answered.as_ref().context("an answer was waited for")?;
    if answer.outcome != ResizeOutcome::Done {
        let why = format!("job `{name}` keeps {} ranks: {}", status.size, answer.sentence);
        return Err(NotResized.because(why).into());
    }
    result(&match (&status.last, options.json) {
        (Some(last), true) => format!("{:#}\n", serde_json::to_value(last)?),
        (Some(last), false) => breakdown(last),
        (None, _) => format!("{}\n", answer.sentence),
    })
}

fn unknown(control: &UserControl, name: &str) -> Explained {
    let names: Vec<String> = control.jobs().into_iter().map(|job| job.status.job).collect();
    let folder = control.folder().display();
    NoJob.because(match names.as_slice() {
        [] => format!(
            "there is no job `{name}`: no status of a malleable program is in `{folder}`; `--control DIR` names another folder"
        ),
        names => format!("there is no job `{name}`; there are {}", names.join(", ")),
    })
}

/// Waits for the status that answers the request; reports each step on standard error.
fn wait(
    control: &UserControl,
    name: &str,
    request: &ResizeRequest,
    patience: Duration,
) -> anyhow::Result<JobStatus> {
    let until = Instant::now() + patience;
    let mut told = ResizeState::Idle;
    loop {
        let found = control.job(name).filter(|found| !found.is_stale);
        let Some(StoredStatus { status, .. }) = found else {
            control.remove_files(name);
            let why = format!("job `{name}` ended before it took another size");
            return Err(NoJob.because(why).into());
        };
        if status.answered.as_ref().is_some_and(|answer| answer.id == request.id) {
            return Ok(status);
        }
        let (state, at) = (words(status.state), status.iteration);
        if std::mem::replace(&mut told, status.state) != status.state {
            eprintln!("sintonia: job {name}: {state}, at iteration {at}");
        }
        if until <= Instant::now() {
            control.take_back(name, request);
            let seconds = patience.as_secs();
            let why = format!(
                "job `{name}` did not answer within {seconds} s ({state}, at iteration {at}); `--at-most` waits longer"
            );
            return Err(NotResized.because(why).into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Table with a line for each job.
fn table(jobs: &[JobStatus], folder: &Path) -> String {
    if jobs.is_empty() {
        let folder = folder.display();
        return format!("no malleable program is running (no status in `{folder}`)\n");
    }
    let iteration = |job: &JobStatus| match job.n_iterations {
        Some(n) => format!("{}/{n}", job.iteration),
        None => job.iteration.to_string(),
    };
    let table = Table::new(jobs)
        .left("JOB", |job| job.job.as_str())
        .left("PROGRAM", |job| job.program.as_str())
        .right("RANKS", |job| job.size.to_string())
        .left("MAY HAVE", |job| range(job.sizes))
        .right("ITERATION", |job| iteration(job))
        .right("EACH", |job| job.seconds_per_iteration.map_or_else(|| "-".to_owned(), seconds))
        .left("STATE", |job| words(job.state));
    table.to_string()
}

fn range(sizes: Sizes) -> String {
    let Sizes { min, max, preferred } = sizes;
    match preferred {
        Some(preferred) => format!("{min} to {max}, best {preferred}"),
        None => format!("{min} to {max}"),
    }
}

/// Text about the times of the parts of a resize.
fn breakdown(resize: &Resize) -> String {
    let Resize { iteration, from, to, seconds: times, bytes, .. } = resize;
    let parts = [
        ("decided", times.decide),
        ("processes started", times.spawn),
        ("joined", times.connect),
        ("constant data moved", times.constant),
        ("variable data moved", times.variable),
        ("processes gone", times.release),
    ];
    let parts = parts.into_iter().filter(|(_, time_s)| 0.0 < *time_s);
    let parts = parts.map(|(what, time_s)| (what, seconds(time_s)));
    let parts = Table::new(parts.chain([("moved", display::units::bytes(bytes.moved))]))
        .left("", |(what, _)| format!("  {what}"))
        .right("", |(_, amount)| amount.clone());
    let (waited, n) = (seconds(times.wait), resize.iterations_meanwhile);
    format!(
        "{from} -> {to} ranks before iteration {iteration}; the program waited {waited}, {n} iterations ran meanwhile\n{parts}"
    )
}

/// State in words.
fn words(state: ResizeState) -> &'static str {
    match state {
        ResizeState::Idle => "computes",
        ResizeState::Deciding => "decides and asks for nodes",
        ResizeState::Spawning => "starts processes",
        ResizeState::Connecting => "joins processes",
        ResizeState::MovingConstant => "moves constant data and computes",
        ResizeState::MovingVariable => "moves variable data",
        ResizeState::Releasing => "waits until processes are gone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resize_api::Seconds;

    #[test]
    fn jobs_are_lines() {
        let sizes = Sizes { min: 1, max: 16, preferred: Some(8) };
        let slurm = JobStatus {
            job: "4711".to_owned(),
            program: "cg".to_owned(),
            size: 4,
            sizes,
            iteration: 120,
            n_iterations: Some(1000),
            seconds_per_iteration: Some(0.0125),
            ..JobStatus::default()
        };
        let other = JobStatus {
            job: "host-7".to_owned(),
            state: ResizeState::Spawning,
            ..JobStatus::default()
        };
        let text = table(&[slurm, other], Path::new("/jobs"));
        assert_eq!(
            text,
            "JOB     PROGRAM  RANKS  MAY HAVE         ITERATION     EACH  STATE\n\
             4711    cg           4  1 to 16, best 8   120/1000  12.5 ms  computes\n\
             host-7               0  1 to 1                   0        -  starts processes\n"
        );
        assert_eq!(
            table(&[], Path::new("/jobs")),
            "no malleable program is running (no status in `/jobs`)\n"
        );
    }

    #[test]
    fn a_resize_says_where_its_time_went() {
        let seconds = Seconds { spawn: 1.25, wait: 0.05, variable: 0.03, ..Seconds::default() };
        let resize = Resize { iteration: 9, from: 4, to: 8, seconds, ..Resize::default() };
        assert_eq!(
            breakdown(&resize),
            "4 -> 8 ranks before iteration 9; the program waited 50.0 ms, 0 iterations ran meanwhile\n  \
             processes started     1.25 s\n  \
             variable data moved  30.0 ms\n  \
             moved                    0 B\n"
        );
    }
}
