//! `sintonia run`: starts the command under observation, and says afterwards where its time went.
//!
//! # Invariants
//! - The command is started and ends as it would without us; when a part of ours fails it runs unwatched,
//!   with a sentence about it. Only with a description or a tunlet that is wrong it is not started.
//! - What ends the command (Ctrl-C, a signal) does not end us: the report of what was seen follows.

mod command;
mod program;

use crate::arguments::RunOptions;
use crate::exit::{BAD_DESCRIPTION, NOT_EXECUTABLE, NOT_FOUND};
use crate::terminal::Terminal;
use crate::watch::{Observation, Subject, Tuning, Way, facts, finish, live, warn};
use analyzer::RunFacts;
use command::{Ending, Output, Running};
use live::Capture;
use std::io::{self, ErrorKind, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

/// Runs the command, reports, and ends as it ended.
pub(crate) fn run(options: &RunOptions, terminal: Terminal) -> ExitCode {
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
    let observation = match Observation::start(&options.watch, subject, tuning, &mut facts) {
        Ok(observation) => Some(observation),
        Err(error) => {
            warn(&format!("the command runs unwatched: {error:#}"));
            None
        }
    };
    program::warnings(&options.command).iter().for_each(|text| warn(text));
    let variables = observation.as_ref().map(Observation::variables).unwrap_or_default();
    let started = Instant::now();
    let watching = observation.as_ref().filter(|_| options.watch.live);
    let ending = match watching {
        Some(observation) => show(observation, &facts, options, terminal),
        None => Running::start(&options.command, &variables, Output::Ours).and_then(Running::wait),
    };
    facts.wall_s = started.elapsed().as_secs_f64();
    let ending = match ending {
        Ok(ending) => ending,
        Err(error) => {
            if let Some(observation) = observation {
                observation.abandon();
            }
            return not_started(&options.command, &error);
        }
    };
    facts.outcome = ending.outcome();
    if let Some(observation) = observation {
        finish(observation, &facts, &options.watch.shown, terminal);
    }
    exit_code(&ending)
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
    if !io::stdout().is_terminal() {
        let mut running = Running::start(&options.command, &variables, Output::Ours)?;
        show.print_lines(&mut running);
        return running.wait();
    }
    let path = observation.record.spool_path("output");
    let mut running = Running::start(&options.command, &variables, Output::Piped)?;
    let pipes = running.take_pipes().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut capture = Capture::start(pipes, &path);
    show.view(&mut running, Some(&capture), terminal);
    capture.pass_on();
    show.print_lines(&mut running);
    let ending = running.wait();
    capture.finish();
    ending
}

fn not_started(command: &[std::ffi::OsString], error: &std::io::Error) -> ExitCode {
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
