//! `--live`: shows numbers while the program runs, on the whole terminal or as a line a second.
//!
//! # Invariants
//! - The command's output is shown in the view; when the view is left or the command has ended, it is on the terminal
//!   as if there had been no view; meanwhile it is kept in a file of the record.
//! - Without a terminal on standard output the command's output is not touched.

mod capture;
mod moment;

use super::observation::Observation;
use super::stall::StallWatch;
pub(crate) use capture::Capture;
use moment::Snapshots;
use report::live::{KeyEffect, LiveScreen, LiveState, plain_line};
use run_record::TuningLine;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::tuning::TuningEvent;
use server::Server;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use user_io::print::warn;
use user_io::terminal::Terminal;

/// Time between two drawings of the view, and between plain lines.
const DRAW_EVERY: Duration = Duration::from_millis(500);
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Time without progress after which the view says why, in s; it may be wrong about a program that computes.
const STALLED_S: f64 = 10.0;
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
    moments: Snapshots,
    decisions: Decisions,
    server: &'a Server,
    stall: StallWatch<'a>,
    command: String,
}

impl<'a> Show<'a> {
    /// Makes a display of this observation.
    pub(crate) fn new(
        observation: &'a Observation,
        facts: &RunFacts,
        stalled_s: Option<f64>,
    ) -> Self {
        let stall = StallWatch::new(&observation.server, facts, stalled_s.or(Some(STALLED_S)));
        let command = facts.command.join(" ");
        let decisions =
            Decisions { path: observation.record.tuning_path(), ..Decisions::default() };
        Self {
            moments: Snapshots::new(facts),
            decisions,
            server: &observation.server,
            stall,
            command,
        }
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

    fn measured(&self) -> MeasuredRun {
        MeasuredRun { processes: self.server.processes(), ..MeasuredRun::default() }
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
                snapshot.waits = self.stall.standing();
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
                self.stall.tell();
                let line = plain_line(&self.moments.next(self.measured()));
                eprintln!("{line}{}", self.decisions.iteration());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Most bytes read at one time; the rest is read the next time.
const N_BYTES_MAX: u64 = 1 << 18;
/// Number of decisions whose points are remembered.
const N_DECISIONS_MAX: usize = 1000;

/// Follows the end of `tuning.jsonl` while it grows.
#[derive(Debug, Default)]
struct Decisions {
    path: PathBuf,
    offset: u64,
    /// Time of the last iteration, in s.
    iteration_s: Option<f64>,
    /// Newest of the lines.
    newest: Option<String>,
    changes: BTreeMap<u64, String>,
}

impl Decisions {
    /// New lines: one for each decision, and one for each that was not kept.
    fn news(&mut self) -> Vec<String> {
        let text = self.read().unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        self.offset += whole.len() as u64;
        let lines = whole.lines().filter_map(|line| serde_json::from_str(line).ok());
        let news: Vec<String> = lines.filter_map(|line: TuningLine| self.say(line.what)).collect();
        self.newest = news.last().cloned().or(self.newest.take());
        news
    }

    /// Suffix for the state of a run: the time of its iterations, and the newest decision.
    fn in_short(&self) -> String {
        let newest = self.newest.as_ref().map(|line| format!(", {line}"));
        format!("{}{}", self.iteration(), newest.unwrap_or_default())
    }

    /// Suffix with the time of iterations.
    fn iteration(&self) -> String {
        let text = self.iteration_s.map(|time_s| format!(", iteration {:.1} ms", time_s * 1e3));
        text.unwrap_or_default()
    }

    fn read(&self) -> std::io::Result<String> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(N_BYTES_MAX).read_to_end(&mut bytes)?;
        // Lines are ASCII except for names; a letter that is cut is in a line that is not complete yet.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn say(&mut self, what: TuningEvent) -> Option<String> {
        let ended = |decision: u64, how: &str, reason: &str| {
            let change = self.changes.get(&decision).cloned();
            let change = change.unwrap_or_else(|| format!("decision {decision}"));
            Some(format!("{change} is {how}: {reason}"))
        };
        match what {
            TuningEvent::Iteration { duration_s, .. } => {
                self.iteration_s = Some(duration_s);
                None
            }
            TuningEvent::Iterations { text, .. } => Some(text),
            TuningEvent::Decision { decision, tunlet, point, old, new, reason } => {
                let old = old.map(|old| format!("{old} ")).unwrap_or_default();
                let change = format!("{tunlet}: {point} {old}-> {new}");
                if N_DECISIONS_MAX <= self.changes.len() {
                    self.changes.pop_first();
                }
                self.changes.insert(decision, change.clone());
                Some(format!("{change} because {reason}"))
            }
            TuningEvent::Declined { decision, reason } => ended(decision, "declined", &reason),
            TuningEvent::Undone { decision, reason } => ended(decision, "taken back", &reason),
            TuningEvent::Lost { decision, reason } => ended(decision, "lost", &reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn whole_lines_are_said_once() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut decisions = Decisions { path: file.path().to_owned(), ..Decisions::default() };
        assert_eq!(decisions.news(), [""; 0]);
        let decision = r#"{"t_s":1.0,"kind":"decision","decision":1,"tunlet":"factoring","point":"F0","old":1.0,"new":0.5,"reason":"sigma rose"}"#;
        let iteration = r#"{"t_s":1.0,"kind":"iteration","number":0,"duration_s":0.25,"work":1.0}"#;
        let undone = r#"{"t_s":2.0,"kind":"undone","decision":1,"reason":"slower"}"#;
        write!(file, "{iteration}\n{decision}\n{}", &undone[..9]).unwrap();
        let first = "factoring: F0 1 -> 0.5 because sigma rose";
        assert_eq!(decisions.news(), [first]);
        assert_eq!(decisions.news(), [""; 0]);
        writeln!(file, "{}", &undone[9..]).unwrap();
        assert_eq!(decisions.news(), ["factoring: F0 1 -> 0.5 is taken back: slower"]);
        let short = ", iteration 250.0 ms, factoring: F0 1 -> 0.5 is taken back: slower";
        assert_eq!(decisions.in_short(), short);
    }
}
