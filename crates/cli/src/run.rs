//! `sintonia run`: starts the command under observation, and says afterwards where its time went.
//!
//! # Invariants
//! - The command is started and ends as it would without us; when a part of ours fails it runs unwatched,
//!   with a sentence about it. Only with a description or a tunlet that is wrong it is not started.
//! - What ends the command (Ctrl-C, a signal) does not end us: the report of what was seen follows.
//! - Whatever the limits of this process forbid us (threads, files, memory, time), the command runs with them as
//!   they are, and its exit code is ours: also when we panic, or have no memory to go on.

mod command;
mod program;

use crate::arguments::RunOptions;
use crate::exit::{BAD_DESCRIPTION, NOT_EXECUTABLE, NOT_FOUND};
use crate::limits;
use crate::terminal::Terminal;
use crate::watch::{Observation, Subject, Tuning, Way, facts, finish, live, warn};
use analyzer::RunFacts;
use command::{Ending, Output, Running};
use live::Capture;
use rustix::io::Errno;
use signal_hook::consts::SIGABRT;
use signal_hook::flag::register_conditional_shutdown;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs the command, reports, and ends as it ended.
pub(crate) fn run(options: &RunOptions, terminal: Terminal) -> ExitCode {
    if let Some(reason) = limits::too_low() {
        warn(&format!("the command runs unwatched: {reason}"));
        return run_unwatched(&options.command);
    }
    let words = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    let mut facts = facts(words.collect(), options.watch.trace);
    let programs = program::programs(&options.command);
    let tuning = match Tuning::prepare(&options.watch.tuned, &programs) {
        Ok(tuning) => tuning,
        Err(error) => {
            warn(&format!("the command is not started: {error:#}"));
            return ExitCode::from(BAD_DESCRIPTION);
        }
    };
    let origin = tuning.as_ref().and_then(|tuning| tuning.origin.as_ref());
    origin.filter(|_| !options.watch.shown.quiet).into_iter().for_each(|text| warn(text));
    let name = program::name(&options.command);
    let subject = Subject { name: &name, way: Way::Started };
    let start = || Observation::start(&options.watch, subject, tuning, &mut facts);
    let observation = match unless_it_panics(start) {
        Ok(observation) => observation,
        Err(error) => {
            warn(&format!("the command runs unwatched: {error:#}"));
            return run_unwatched(&options.command);
        }
    };
    program::warnings(&options.command).iter().for_each(|text| warn(text));
    let started = Instant::now();
    let ending = match options.watch.live {
        true => show(&observation, &facts, options, terminal),
        false => start_and_wait(&options.command, &observation.variables()),
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
    end_as(&ending);
    let report = || {
        finish(observation, &facts, &options.watch.shown, terminal);
        Ok(())
    };
    if let Err(error) = unless_it_panics(report) {
        warn(&format!("the report is not complete: {error:#}"));
    }
    exit_code(&ending)
}

/// Runs the command as if we were not there.
fn run_unwatched(command: &[OsString]) -> ExitCode {
    match start_and_wait(command, &[]) {
        Ok(ending) => exit_code(&ending),
        Err(error) => not_started(command, &error),
    }
}

fn start_and_wait(command: &[OsString], variables: &[(String, OsString)]) -> io::Result<Ending> {
    Running::start(command, variables, Output::Ours).and_then(Running::wait)
}

/// A bug of ours is no reason to lose the command or its exit code.
fn unless_it_panics<T>(act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let panicked = |_| Err(anyhow::anyhow!("a part of Sintonia failed, as said above"));
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(panicked)
}

/// From here on having no memory, which aborts this process, ends it with the command's exit code.
fn end_as(ending: &Ending) {
    let always = Arc::new(AtomicBool::new(true));
    // Without it, only that code would be lost.
    register_conditional_shutdown(SIGABRT, ending.code().into(), always).ok();
}

/// Runs the command, showing numbers until it ends.
fn show(
    observation: &Observation,
    facts: &RunFacts,
    options: &RunOptions,
    terminal: Terminal,
) -> io::Result<Ending> {
    let variables = observation.variables();
    let mut show = live::Show::new(observation, facts);
    let has_view = io::stdout().is_terminal();
    let capture = has_view.then(|| Capture::start(&observation.record.spool_path("output")));
    let Some(Ok(mut capture)) = capture else {
        let mut running = Running::start(&options.command, &variables, Output::Ours)?;
        show.print_lines(&mut running);
        return running.wait();
    };
    let mut running = Running::start(&options.command, &variables, Output::Piped)?;
    running.take_pipes().into_iter().for_each(|pipes| capture.read(pipes));
    show.view(&mut running, Some(&capture), terminal);
    capture.pass_on();
    show.print_lines(&mut running);
    let ending = running.wait();
    capture.finish();
    ending
}

/// The command could not be started beside us. Where that may be for want of room, it takes our place: with the
/// same limits there is room for one.
fn not_started(command: &[OsString], error: &io::Error) -> ExitCode {
    const WANT_OF_ROOM: [Errno; 5] =
        [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TOOBIG];
    let is_for_want_of_room =
        Errno::from_io_error(error).is_some_and(|errno| WANT_OF_ROOM.contains(&errno));
    match command.split_first().filter(|_| is_for_want_of_room) {
        Some((program, arguments)) => {
            warn(&format!("the command runs unwatched, in our place: {error}"));
            failed_to_start(command, &Command::new(program).args(arguments).exec())
        }
        None => failed_to_start(command, error),
    }
}

fn failed_to_start(command: &[OsString], error: &io::Error) -> ExitCode {
    let name = command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if error.kind() == ErrorKind::NotFound {
        warn(&format!(
            "there is no command `{name}`; check its path, or load the module that has it"
        ));
        return ExitCode::from(NOT_FOUND);
    }
    warn(&format!("`{name}` cannot be started: {error}"));
    ExitCode::from(NOT_EXECUTABLE)
}

fn exit_code(ending: &Ending) -> ExitCode {
    ExitCode::from(ending.code())
}
