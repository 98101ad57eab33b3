//! `--live`: the numbers while the program runs, on the whole terminal or as a line a second.
//!
//! # Invariants
//! - What the command writes is shown in the view and, when the view is left or the command ended, is on
//!   the terminal as if there had been no view; meanwhile it is in a file of the record.
//! - Without a terminal on standard output the command's output is not touched.

mod capture;
mod decisions;
mod moment;

pub(crate) use capture::Capture;

use super::observation::Observation;
use super::warn;
use crate::terminal::Terminal;
use analyzer::{Measured, RunFacts, Server};
use dashboard::live::{KeyEffect, LiveScreen, LiveState, plain_line};
use decisions::Decisions;
use moment::Moments;
use std::io::{self, Stdout};
use std::time::{Duration, Instant};

/// Time between views, and between plain lines.
const DRAW_EVERY: Duration = Duration::from_millis(500);
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Time to wait for a key.
const KEY_PATIENCE: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is shown while it lasts.
pub(crate) trait Watched {
    /// Whether it is over.
    fn has_ended(&mut self) -> bool;
    /// Somebody wants it to end.
    fn interrupt(&self);
}

/// Shows numbers.
pub(crate) struct Show<'a> {
    moments: Moments,
    decisions: Decisions,
    server: &'a Server,
    command: String,
}

impl<'a> Show<'a> {
    /// Of what is observed.
    pub(crate) fn new(observation: &'a Observation, facts: &RunFacts) -> Self {
        let command = facts.command.join(" ");
        let decisions = Decisions::of(observation.record.tuning_path());
        Self { moments: Moments::new(facts), decisions, server: &observation.server, command }
    }

    /// Shows the view on the terminal until it is over, somebody leaves the view, or the captured output has
    /// no room any more.
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
        // What is left to say is said without it.
        screen.stop().ok();
    }

    /// Prints a line a second until it is over.
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
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
