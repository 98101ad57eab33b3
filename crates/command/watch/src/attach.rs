//! `sintonia attach`: watches and tunes a job that runs already, and leaves it as it was.
//!
//! # Invariants
//! - All ranks on this node are attached to, or none.
//! - However this program ends, the job goes on; when it ends in order, it has left all ranks before.
//!
//! # Not here
//! Loading a library into a process (`inject`), and what that library does there (`probe`).

pub mod entrance;
mod job;
mod ranks;

use crate::finish::finish;
use crate::live;
use crate::observation::{Observation, Subject, SubjectOrigin, facts};
use crate::options::WatchOptions;
use crate::stall::StallWatch;
use crate::tuning::Tuning;
use anyhow::Context;
use clap::Args;
use collector::recover;
use job::Attached;
use live::Watched;
use ranks::LocalRanks;
use run_record::summary::CommandOutcome;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use user_io::exit::{BadDescription, NotAttached};
use user_io::option_value::seconds;
use user_io::print::warn;
use user_io::terminal::Terminal;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

const EXAMPLES: &str = "\
Examples:
  sintonia attach 4711                             until the program ends, or Ctrl-C
  sintonia attach --for 30 $(pgrep -n mpirun)      half a minute of it
  sintonia attach --tune 4711                      faster from now on, without a description
  sintonia attach --app xfire.toml --tunlet factoring 4711";

/// Watch and tune a job that runs already
///
/// The processes are ranks, or launchers, which stand for all their ranks; all ranks of these jobs on this node are
/// attached to, or none. The watch lasts until the job ends, Ctrl-C, or `--for`; then the program goes on as it was
/// before, and a report follows as after `sintonia run`. Needs the right to trace the processes, which
/// `sintonia doctor` checks.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    watch: WatchOptions,
    /// Time after which the program is left
    #[arg(long = "for", value_name = "SECONDS", value_parser = |text: &str| seconds(text, 0.0..=1e9))]
    at_most: Option<f64>,
    /// Process of the job: a rank, or the launcher
    #[arg(required = true, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pids: Vec<i32>,
}

/// Attaches to the ranks, watches them, leaves them, and shows the report.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let ranks = LocalRanks::find(&options.pids).context(NotAttached)?;
    let tuning = Tuning::prepare(&options.watch.tuner, &ranks.programs(), false);
    let tuning = tuning.context(BadDescription)?;
    let origin = tuning.as_ref().and_then(|tuning| tuning.origin.clone());
    let mut facts = facts(ranks.command(), options.watch.trace);
    facts.attached = true;
    let subject = Subject { name: &ranks.name(), origin: SubjectOrigin::Attached };
    let observation = Observation::start(&options.watch, subject, tuning, &mut facts)?;
    let is_quiet = options.watch.output.quiet;
    if !is_quiet {
        origin.iter().for_each(|text| warn(text));
        ranks.sentences().iter().for_each(|text| warn(text));
    }
    let begun = Instant::now();
    let mut attached = match Attached::to(ranks, &observation) {
        Ok(attached) => attached,
        Err(error) => {
            observation.abandon();
            recover::remove_left(&facts);
            return Err(error.context(NotAttached));
        }
    };
    if !is_quiet {
        warn(&format!("attached in {} ms", begun.elapsed().as_millis()));
    }
    attached.end_after(options.at_most.map(Duration::from_secs_f64));
    let mut stall = StallWatch::new(&observation.server, &facts, options.watch.stalled);
    let show = live::Show::new(&observation, &facts, options.watch.stalled);
    watch(&mut attached, (show, &mut stall), options, terminal);
    let problems = attached.leave(&observation);
    facts.wall_s = begun.elapsed().as_secs_f64();
    let goes_on = attached.is_alive();
    facts.outcome = CommandOutcome { complete: true, goes_on, ..CommandOutcome::default() };
    finish(observation, &facts, &options.watch.output, terminal);
    problems.iter().for_each(|problem| warn(problem));
    Ok(ExitCode::SUCCESS)
}

/// Watches until the job ends, or until a signal or `--for` ends the watch.
fn watch(
    attached: &mut Attached,
    (mut show, stall): (live::Show<'_>, &mut StallWatch<'_>),
    options: &Options,
    terminal: Terminal,
) {
    if options.watch.live && io::stdout().is_terminal() {
        show.view(attached, None, terminal);
    }
    if options.watch.live {
        show.print_lines(attached);
    }
    while !attached.has_ended() {
        if options.watch.tells_stalls() {
            stall.tell();
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
