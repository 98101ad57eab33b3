//! `sintonia node auto`: submits jobs that start daemons when tasks wait, and ends them when they are idle.
//!
//! # Invariants
//! - What is about to be submitted is written down first, so that whoever reads the file after a crash knows of it.
//! - The key of the cluster is named by its path; it is neither in a job's script nor in its arguments.
//!
//! # Not here
//! When nodes are needed (`node-demand`).

mod controller;
mod job_template;
mod preparation;
mod record;
mod slurm;
mod status;

use crate::location::StateOption;
use clap::Args;
use std::process::ExitCode;
use std::time::Duration;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia node start --background --port 7411       on the login node, once
  sintonia node auto --slurm --dry-run               prints a job, and lets Slurm check it
  sintonia node auto --slurm --max 20 --idle 5m      until Ctrl-C; its jobs go on
  sintonia node auto --slurm --partition short --time 30m --cores-per-node 8 -- --mem=16G
  sintonia node auto --status                        jobs, what was done, why nothing is done now
  sintonia node auto --stop --with-jobs

When tasks of the cluster have waited for some seconds, and cores that are free or were asked for do
not suffice, jobs are submitted, each with a daemon that joins the daemon of this machine. A job
whose nodes have been idle for long is told to leave, and ends. Each decision is a line with its
reason. The folder of the daemon (`--state`) must be one that the nodes share, such as in the home;
`auto` in it has the outputs of the jobs, and `auto.json`, by which a controller that was killed
goes on with its jobs. Before the time limit of its job a daemon takes nothing more; what still
runs when the time is nearly over runs again elsewhere. Without `--cores-per-node`, jobs get whole
nodes. Slurm only: there is no support for PBS.
Exit codes: 0 it was stopped; 2 an option is wrong; 108 no daemon answers, or others cannot reach
it; 109 Slurm refuses the job, or a controller is at work already.";

/// Start nodes in jobs of Slurm when tasks wait, and end them when they are idle
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct AutoOptions {
    /// Submit jobs to Slurm
    #[arg(long, required_unless_present_any = ["status", "stop"])]
    slurm: bool,
    /// Print the jobs, what was done last, and why nothing is done now
    #[arg(long, conflicts_with_all = ["slurm", "stop"])]
    status: bool,
    /// End the controller of this machine's daemon; its jobs go on
    #[arg(long, conflicts_with = "slurm")]
    stop: bool,
    /// With `--stop`: end the jobs, too; tasks that run there run elsewhere
    #[arg(long, requires = "stop")]
    with_jobs: bool,
    /// Print the job, and let Slurm check it; submit nothing
    #[arg(long, requires = "slurm")]
    dry_run: bool,
    /// Print a line of JSON for each decision; with `--status`, one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateOption,
    #[command(flatten)]
    demand: DemandOptions,
    #[command(flatten)]
    job: job_template::JobOptions,
}

/// Options that say when nodes are needed.
#[derive(Args, Debug)]
#[command(next_help_heading = "Demand")]
struct DemandOptions {
    /// Most nodes at a time, of jobs that wait or run
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max: u32,
    /// Nodes that are kept, even if they are idle
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=65_536))]
    min: u32,
    /// Time after which an idle node leaves: 90s, 5m, 1h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    idle: Duration,
    /// Most jobs that wait in Slurm's queue at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    backlog: u32,
    /// Time for which tasks wait before a job is submitted
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    patience: Duration,
    /// Submit no job while the tasks that wait will have run within this time, as fast as they end now
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    worth: Duration,
    /// Time for which a job that waits must have been unnecessary before it is canceled.
    #[arg(long, hide = true, default_value = "30s", value_parser = duration)]
    calm: Duration,
    /// Time between two looks at the nodes.
    #[arg(long, hide = true, default_value = "1s", value_parser = duration)]
    look_every: Duration,
    /// Time between two looks at Slurm's queue.
    #[arg(long, hide = true, default_value = "10s", value_parser = duration)]
    queue_every: Duration,
}

/// Runs the controller, or asks what it does.
pub(super) fn run(options: &AutoOptions, _: Terminal) -> anyhow::Result<ExitCode> {
    match (options.status, options.stop) {
        (true, _) => status::show(options),
        (_, true) => status::stop(options),
        _ => controller::run(options),
    }
}

/// Parses a time: a number with `ms`, `s`, `m`, `h` or `d`, or of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 5] =
        [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, seconds) = unit.unwrap_or((text, 1.0));
    let number = number.trim().parse().ok().map(|number: f64| number * seconds);
    let number = number.filter(|seconds| (0.0..=1e8).contains(seconds));
    number
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "write a time with its unit: 500ms, 90s, 5m, 1h, 2d".to_owned())
}

/// Time in ms.
fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        let ms = |text| duration(text).ok().map(ms);
        let texts =
            ["90", "1.5s", "200ms", "5m", "1h", "2d", "0", "", "m", "-1s", "5 m", "nan", "1w"];
        let expected = [
            Some(90_000),
            Some(1500),
            Some(200),
            Some(300_000),
            Some(3_600_000),
            Some(172_800_000),
            Some(0),
            None,
            None,
            None,
            Some(300_000),
            None,
            None,
        ];
        assert_eq!(texts.map(ms), expected);
    }
}
