//! `--live`: the numbers while the command runs, on the whole terminal or as a line a second.
//!
//! # Invariants
//! - What the command writes is shown in the view and, when the view is left or the command ended, is on
//!   the terminal as if there had been no view; meanwhile it is in a file of the record.
//! - Without a terminal on standard output the command's output is not touched.

mod capture;
mod moment;

use super::command::{Ending, Output, Running};
use super::observation::Observation;
use super::warn;
use crate::arguments::RunOptions;
use crate::terminal::Terminal;
use analyzer::{Measured, RunFacts, Server};
use capture::Capture;
use dashboard::live::{KeyEffect, LiveScreen, LiveState, plain_line};
use moment::Moments;
use std::io::{self, IsTerminal, Stdout};
use std::time::{Duration, Instant};

/// Time between views, and between plain lines.
const DRAW_EVERY: Duration = Duration::from_millis(500);
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Time to wait for a key.
const KEY_PATIENCE: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Runs the command, showing numbers until it ends.
pub(super) fn watch(
    observation: &Observation,
    facts: &RunFacts,
    options: &RunOptions,
    terminal: Terminal,
) -> io::Result<Ending> {
    let variables = observation.variables();
    let mut watch = Watch { moments: Moments::new(facts), server: &observation.server };
    if !io::stdout().is_terminal() {
        let mut running = Running::start(&options.command, &variables, Output::Ours)?;
        watch.print_lines(&mut running);
        return running.wait();
    }
    let path = observation.record.spool_path("output");
    let mut running = Running::start(&options.command, &variables, Output::Piped)?;
    let pipes = running.take_pipes().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut capture = Capture::start(pipes, &path);
    let state = LiveState::new(facts.command.join(" "));
    let state = state.with_color(terminal.stdout_style().color);
    match LiveScreen::start(io::stdout()) {
        Ok(screen) => watch.view((screen, state), &mut running, &capture),
        Err(error) => warn(&error.to_string()),
    }
    capture.pass_on();
    watch.print_lines(&mut running);
    let ending = running.wait();
    capture.finish();
    ending
}

struct Watch<'a> {
    moments: Moments,
    server: &'a Server,
}

impl Watch<'_> {
    fn measured(&self) -> Measured {
        Measured { processes: self.server.processes(), ..Measured::default() }
    }

    /// Shows the view until the command ends, somebody leaves it, or the output has no room any more.
    fn view(
        &mut self,
        (mut screen, mut state): (LiveScreen<Stdout>, LiveState),
        running: &mut Running,
        capture: &Capture,
    ) {
        let mut next_moment = Instant::now();
        while !running.has_ended() && !capture.is_full() {
            if next_moment <= Instant::now() {
                next_moment = Instant::now() + DRAW_EVERY;
                let mut snapshot = self.moments.next(self.measured());
                snapshot.output = capture.take_lines();
                state.update(snapshot);
            }
            let key = screen.draw(&state).and_then(|()| screen.key(KEY_PATIENCE));
            match key.map(|key| key.map(|key| state.key(key))) {
                Ok(Some(KeyEffect::Interrupt)) => running.interrupt(),
                Ok(Some(KeyEffect::Leave)) | Err(_) => break,
                Ok(Some(KeyEffect::Redraw | KeyEffect::Nothing) | None) => {}
            }
        }
        // What is left to say is said without it.
        screen.stop().ok();
    }

    /// Prints a line a second until the command ends.
    fn print_lines(&mut self, running: &mut Running) {
        let mut next_line = Instant::now() + LINE_EVERY;
        while !running.has_ended() {
            if next_line <= Instant::now() {
                next_line += LINE_EVERY;
                eprintln!("{}", plain_line(&self.moments.next(self.measured())));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
