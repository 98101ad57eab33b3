//! `sintonia run`: starts the command under observation, and says afterwards where its time went.
//!
//! # Invariants
//! - The command is started and ends as it would without us; when a part of ours fails it runs unwatched,
//!   with a sentence about it. Only with a description or a tunlet that is wrong it is not started.
//! - What ends the command (Ctrl-C, a signal) does not end us: the report of what was seen follows.

mod command;
pub(crate) mod environment;
mod finish;
mod live;
mod local_collector;
mod observation;
mod program;
mod record;
mod tuning;

use crate::arguments::RunOptions;
use crate::exit::{BAD_DESCRIPTION, NOT_EXECUTABLE, NOT_FOUND};
use crate::terminal::Terminal;
use analyzer::RunFacts;
use command::{Ending, Output, Running};
use observation::Observation;
use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tuning::Tuning;

/// Runs the command, reports, and ends as it ended.
pub(crate) fn run(options: &RunOptions, terminal: Terminal) -> ExitCode {
    let mut facts = facts(options);
    let tuning = match Tuning::prepare(options) {
        Ok(tuning) => tuning,
        Err(error) => {
            warn(&format!("the command is not started: {error:#}"));
            return ExitCode::from(BAD_DESCRIPTION);
        }
    };
    let observation = match Observation::start(options, tuning, &mut facts) {
        Ok(observation) => Some(observation),
        Err(error) => {
            warn(&format!("the command runs unwatched: {error:#}"));
            None
        }
    };
    program::warnings(&options.command).iter().for_each(|text| warn(text));
    let variables = observation.as_ref().map(Observation::variables).unwrap_or_default();
    let started = Instant::now();
    let watching = observation.as_ref().filter(|_| options.live);
    let ending = match watching {
        Some(observation) => live::watch(observation, &facts, options, terminal),
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
        finish::finish(observation, &facts, options, terminal);
    }
    exit_code(&ending)
}

fn facts(options: &RunOptions) -> RunFacts {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunFacts {
        sintonia_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        started_s: since_1970.as_secs_f64(),
        traced: options.trace,
        ..RunFacts::default()
    }
}

/// Says what went wrong, to the person.
fn warn(text: &str) {
    eprintln!("sintonia: {text}");
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
