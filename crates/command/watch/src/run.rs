//! `sintonia run`: starts a command, watches it, and shows afterwards where its time went.
//!
//! # Invariants
//! - The command is started and ends as it would without `sintonia`; when a part of `sintonia` fails, it runs
//!   unwatched, with a sentence about it. Only a wrong description or tunlet keeps it from being started.
//! - What ends the command (Ctrl-C, a signal) does not end this process: the report of what was seen follows.
//! - Whatever the limits of this process forbid it (threads, files, memory, time), the command runs with them as they
//!   are, and this process ends with its exit code, also after a panic or when memory runs out. A panic does not end
//!   the wait for the command.

mod command;
mod program;
mod signals;

use crate::environment;
use crate::finish::finish;
use crate::lesson::Lesson;
use crate::limits;
use crate::live;
use crate::observation::{Observation, Subject, SubjectOrigin, facts};
use crate::options::WatchOptions;
use crate::stall::{StallWatch, Teller};
use crate::tuning::Tuning;
use clap::Args;
use command::{Ending, Output, RunningCommand};
use live::Capture;
use run_record::Summary;
use run_record::measured::RunFacts;
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::time::Instant;
use user_io::exit::{BadDescription, NotExecutable, NotFound};
use user_io::print::warn;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia run -- mpirun -np 4 ./program input.txt
  sintonia run --tune -- mpirun -np 8 ./program
  sintonia run --tune --learn -- mpirun -np 8 ./program
  sintonia run --probe 'solve*' -- mpirun -np 4 ./program
  sintonia run --app xfire.toml --tunlet factoring -- mpirun -np 5 ./xfire
  sintonia run --tunlet worker-count -- mpirun -np 5 ./of-the-master-worker-library
  sintonia run --stalled 30 -- mpirun -np 4 ./program-that-hangs
  sintonia run --trace --out runs/today -- srun -n 64 ./program
  sintonia run --json -- ./job.sh > job.json";

/// Run a command and watch its MPI processes
///
/// The command is started unchanged, with its own standard input and output, and ends as it would without `sintonia`,
/// which ends with the same exit code. Afterwards a report is printed on standard error, and a record of the run, with
/// `report.html`, is kept in a folder. The command may be a launcher (`mpirun`, `mpiexec`, `srun`), a program, or a
/// script that starts several.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    watch: WatchOptions,
    /// Keep what this run teaches, for the next one of the program: levers that helped, settings of the launch that are
    /// tried from run to run, and advice; `sintonia learnt` shows it, and the next `--tune` begins with it
    #[arg(long, conflicts_with_all = ["dry_run", "observe"])]
    learn: bool,
    /// The command, after `--`
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command, reports, and ends with its exit code.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    Ok(run_watched(options, terminal))
}

fn run_watched(options: &Options, terminal: Terminal) -> ExitCode {
    if let Some(reason) = limits::too_low() {
        return run_unwatched(&options.command, &reason);
    }
    let words = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    let mut facts = facts(words.collect(), options.watch.trace);
    let lesson = catch_panic(|| Ok(lesson(options))).unwrap_or_default();
    let tuning = match catch_panic(|| Ok(tuning(options, lesson.as_ref()))) {
        Ok(Ok(tuning)) => tuning,
        Ok(Err(error)) => {
            warn(&format!("the command is not started: {error:#}"));
            return BadDescription.into();
        }
        Err(error) => return run_unwatched(&options.command, &format!("{error:#}")),
    };
    let origin = tuning.as_ref().and_then(|tuning| tuning.origin.clone());
    let begun = lesson.as_ref().and_then(Lesson::in_words);
    let said = origin.into_iter().chain(begun).filter(|_| !options.watch.output.quiet);
    said.for_each(|text| warn(&text));
    let name = catch_panic(|| Ok(program::name(&options.command)));
    let name = name.unwrap_or_else(|_| "run".to_owned());
    let subject = Subject { name: &name, origin: SubjectOrigin::Started };
    command::heed_signals();
    let start = || Observation::start(&options.watch, subject, tuning, &mut facts);
    let mut observation = match catch_panic(start) {
        Ok(observation) => observation,
        Err(error) => return run_unwatched(&options.command, &format!("{error:#}")),
    };
    if let Some(lesson) = &lesson {
        environment::add(&mut observation.variables, lesson.variables());
    }
    let warnings = catch_panic(|| Ok(program::warnings(&options.command)));
    warnings.unwrap_or_default().iter().for_each(|text| warn(text));
    let started = Instant::now();
    let ending = match options.watch.live {
        true => show(&observation, &facts, options, terminal),
        false => std::thread::scope(|scope| {
            let stall = StallWatch::new(&observation.server, &facts, options.watch.stalled);
            let teller = options.watch.tells_stalls().then(|| Teller::start(scope, stall));
            let ending = start_and_wait(&options.command, &observation.variables);
            teller.into_iter().for_each(Teller::end);
            ending
        }),
    };
    facts.wall_s = started.elapsed().as_secs_f64();
    let ending = match ending {
        Ok(ending) => ending,
        Err(error) => {
            observation.abandon();
            return not_started(&options.command, &error);
        }
    };
    facts.outcome = ending.outcome();
    facts.interrupted = command::was_interrupted();
    let report = || Ok(finish(observation, &facts, &options.watch.output, terminal));
    match catch_panic(report) {
        Ok(summary) => keep(lesson.as_ref(), &summary, &facts, options.watch.output.quiet),
        Err(error) => warn(&format!("the report is not complete: {error:#}")),
    }
    ending.code().into()
}

/// What earlier runs taught, if this one is to learn or to be tuned.
fn lesson(options: &Options) -> Option<Lesson> {
    let programs = program::programs(&options.command);
    Lesson::begin(options.learn, &options.watch.tuner, &options.command, &programs)
}

fn tuning(options: &Options, lesson: Option<&Lesson>) -> anyhow::Result<Option<Tuning>> {
    let programs = program::programs(&options.command);
    let tuning = Tuning::prepare(&options.watch.tuner, &programs, options.learn)?;
    Ok(tuning.map(|tuning| match lesson {
        Some(lesson) => tuning.taught(lesson.first(), lesson.late()),
        None => tuning,
    }))
}

/// Keeps what a run taught.
fn keep(lesson: Option<&Lesson>, summary: &Summary, facts: &RunFacts, is_quiet: bool) {
    let Some(lesson) = lesson else { return };
    match catch_panic(|| lesson.end(summary, facts)) {
        Ok(news) => news.iter().filter(|_| !is_quiet).for_each(|text| warn(text)),
        Err(error) => warn(&format!("what this run taught is not kept: {error:#}")),
    }
}

/// Runs the command without watching it, for this reason.
fn run_unwatched(command: &[OsString], reason: &str) -> ExitCode {
    warn(&format!("the command runs unwatched: {reason}"));
    match start_and_wait(command, &[]) {
        Ok(ending) => ending.code().into(),
        Err(error) => not_started(command, &error),
    }
}

fn start_and_wait(command: &[OsString], variables: &[(String, OsString)]) -> io::Result<Ending> {
    RunningCommand::start(command, variables, Output::Ours).map(RunningCommand::wait)
}

/// Turns a panic into an error, so that a bug does not lose the command or its exit code.
fn catch_panic<T>(act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let panicked = |_| Err(anyhow::anyhow!("a part of Sintonia failed, as reported above"));
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(panicked)
}

/// Runs the command and shows numbers until it ends.
fn show(
    observation: &Observation,
    facts: &RunFacts,
    options: &Options,
    terminal: Terminal,
) -> io::Result<Ending> {
    let has_view = io::stdout().is_terminal();
    let capture = has_view.then(|| Capture::start(&observation.record.spool_path("output")));
    let mut capture = capture.and_then(Result::ok);
    let output = if capture.is_some() { Output::Piped } else { Output::Ours };
    let mut running = RunningCommand::start(&options.command, &observation.variables, output)?;
    let mut show = None;
    if let Some(capture) = &mut capture {
        running.take_pipes().into_iter().for_each(|pipes| capture.read(pipes));
        show_while_running(&mut running, |running| {
            let show = show.insert(live::Show::new(observation, facts, options.watch.stalled));
            show.view(running, Some(capture), terminal);
        });
        capture.pass_on();
    }
    show_while_running(&mut running, |running| {
        let new = || live::Show::new(observation, facts, options.watch.stalled);
        show.get_or_insert_with(new).print_lines(running);
    });
    let ending = running.wait();
    capture.into_iter().for_each(Capture::finish);
    Ok(ending)
}

/// Shows the running command, as long as showing it works.
fn show_while_running(running: &mut RunningCommand, show: impl FnOnce(&mut RunningCommand)) {
    let shown = || {
        show(running);
        Ok(())
    };
    if let Err(error) = catch_panic(shown) {
        warn(&format!("the command goes on without being shown: {error:#}"));
    }
}

/// Handles a command that could not be started as a child. If memory or processes may be lacking, the command replaces
/// this process: within the same limits there is room for one.
fn not_started(command: &[OsString], error: &io::Error) -> ExitCode {
    const WANT_OF_ROOM: [Errno; 5] =
        [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TOOBIG];
    if let Some((program, arguments)) = command.split_first()
        && Errno::from_io_error(error).is_some_and(|errno| WANT_OF_ROOM.contains(&errno))
    {
        warn(&format!("the command runs unwatched and replaces `sintonia`: {error}"));
        let mut in_our_place = Command::new(program);
        signals::as_found(in_our_place.args(arguments));
        return failed_to_start(command, &in_our_place.exec());
    }
    failed_to_start(command, error)
}

fn failed_to_start(command: &[OsString], error: &io::Error) -> ExitCode {
    if let (ErrorKind::Interrupted, Some(code)) = (error.kind(), command::code_of_stop()) {
        return code.into();
    }
    let name = command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if error.kind() == ErrorKind::NotFound {
        warn(&format!(
            "there is no command `{name}`; check its path, or load the module that has it"
        ));
        return NotFound.into();
    }
    warn(&format!("`{name}` cannot be started: {error}"));
    NotExecutable.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic in the live view ended this process, and the command's exit code was lost.
    #[test]
    fn a_panic_while_it_is_shown_costs_no_exit_code() {
        let command = ["sh", "-c", "exit 7"].map(OsString::from);
        let mut running = RunningCommand::start(&command, &[], Output::Ours).unwrap();
        show_while_running(&mut running, |_| panic!("on purpose"));
        assert_eq!(running.wait().code(), 7);
    }
}
