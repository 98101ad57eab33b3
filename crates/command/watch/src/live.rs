//! `--live`: shows numbers while the program runs, on the whole terminal or as a line a second.
//!
//! # Invariants
//! - The command's output is shown in the view; when the view is left or the command has ended, it is on the terminal
//!   as if there had been no view; meanwhile it is kept in a file of the record.
//! - Without a terminal on standard output the command's output is not touched.

mod capture;
mod decisions;
mod moment;

pub(crate) use capture::Capture;

use super::observation::Observation;
use decisions::Decisions;
use moment::Moments;
use report::live::{KeyEffect, LiveScreen, LiveState, plain_line};
use run_record::measured::{Measured, RunFacts};
use server::Server;
use std::io::{self, Stdout};
use std::time::{Duration, Instant};
use user_io::print::warn;
use user_io::terminal::Terminal;

/// Time between two drawings of the view, and between plain lines.
const DRAW_EVERY: Duration = Duration::from_millis(500);
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for a key.
const KEY_PATIENCE: Duration = Duration::from_millis(50);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Program that is shown while it runs.
pub(crate) trait Watched {
    /// Returns whether the program has ended.
    fn has_ended(&mut self) -> bool;
    /// Interrupts the program, as the user asks.
    fn interrupt(&self);
}

/// Live display of a run.
pub(crate) struct Show<'a> {
    moments: Moments,
    decisions: Decisions,
    server: &'a Server,
    command: String,
}

impl<'a> Show<'a> {
    /// Makes a display of this observation.
    pub(crate) fn new(observation: &'a Observation, facts: &RunFacts) -> Self {
        let command = facts.command.join(" ");
        let decisions = Decisions::of(observation.record.tuning_path());
        Self { moments: Moments::new(facts), decisions, server: &observation.server, command }
    }

    /// Shows the view on the terminal until the program ends, the user leaves the view, or the file of the captured
    /// output is full.
    pub(crate) fn view(
        &mut self,
        watched: &mut impl Watched,
        capture: Option<&Capture>,
        terminal: Terminal,
    ) {
        let state = LiveState::new(self.command.clone());
        let state = state.with_color(terminal.stdout_style().color);
        match LiveScreen::start(io::stdout()) {
            Ok(screen) => self.draw((screen, state), watched, capture),
            Err(error) => warn(&error.to_string()),
        }
    }

    fn measured(&self) -> Measured {
        Measured { processes: self.server.processes(), ..Measured::default() }
    }

    fn draw(
        &mut self,
        (mut screen, mut state): (LiveScreen<Stdout>, LiveState),
        watched: &mut impl Watched,
        capture: Option<&Capture>,
    ) {
        let mut next_moment = Instant::now();
        while !watched.has_ended() && !capture.is_some_and(Capture::is_full) {
            if next_moment <= Instant::now() {
                next_moment = Instant::now() + DRAW_EVERY;
                let mut snapshot = self.moments.next(self.measured());
                self.decisions.news();
                snapshot.state.push_str(&self.decisions.in_short());
                snapshot.output = capture.map(Capture::take_lines).unwrap_or_default();
                state.update(snapshot);
            }
            let key = screen.draw(&state).and_then(|()| screen.key(KEY_PATIENCE));
            match key.map(|key| key.map(|key| state.key(key))) {
                Ok(Some(KeyEffect::Interrupt)) => watched.interrupt(),
                Ok(Some(KeyEffect::Leave)) | Err(_) => break,
                Ok(Some(KeyEffect::Redraw | KeyEffect::Nothing) | None) => {}
            }
        }
        // Further messages are printed without the view.
        screen.stop().ok();
    }

    /// Prints a line a second until the program ends.
    pub(crate) fn print_lines(&mut self, watched: &mut impl Watched) {
        let mut next_line = Instant::now() + LINE_EVERY;
        while !watched.has_ended() {
            if next_line <= Instant::now() {
                next_line += LINE_EVERY;
                for line in self.decisions.news() {
                    eprintln!("sintonia: {line}");
                }
                let line = plain_line(&self.moments.next(self.measured()));
                eprintln!("{line}{}", self.decisions.iteration());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
