//! Writing of the conductor's lines to the record.

use run_record::TuningWriter;
use run_record::tuning::{Effect, TuningEvent, TuningLine, TuningMode};
use std::path::Path;
use tunlets::conductor::{Mode, RecordLine, TuningEntry};

/// Maximum number of recorded warnings.
const N_WARNINGS_MAX: usize = 200;

/// Appends lines; a write error ends the recording of lines, not the run.
#[derive(Debug)]
pub(super) struct Lines {
    writer: Option<TuningWriter>,
    warned: Vec<String>,
    /// Reason why lines are missing, until it is reported.
    problem: Option<String>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Self {
        match TuningWriter::open(path) {
            Ok(writer) => Self { writer: Some(writer), warned: Vec::new(), problem: None },
            Err(error) => {
                Self { writer: None, warned: Vec::new(), problem: Some(error.to_string()) }
            }
        }
    }

    pub(super) fn append(&mut self, line: RecordLine) {
        self.write(line.time_s, event_of(line.entry));
    }

    /// Records a warning, once.
    pub(super) fn warn(&mut self, time_s: f64, text: String) {
        if self.warned.len() < N_WARNINGS_MAX && !self.warned.contains(&text) {
            self.warned.push(text.clone());
            self.write(time_s, TuningEvent::Warning { text });
        }
    }

    pub(super) fn end(&mut self, time_s: f64, n_events_unheard: u64) {
        self.write(time_s, TuningEvent::End { n_events_unheard });
    }

    /// Removes and returns the reason why lines are missing.
    pub(super) fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    fn write(&mut self, t_s: f64, what: TuningEvent) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.append(&TuningLine { t_s, what }) {
            self.problem
                .get_or_insert_with(|| format!("decisions are missing in the record: {error}"));
        }
    }
}

fn mode_of(mode: Mode) -> TuningMode {
    match mode {
        Mode::Observe => TuningMode::Observe,
        Mode::DryRun => TuningMode::DryRun,
        Mode::Tune => TuningMode::Tune,
    }
}

fn event_of(entry: TuningEntry) -> TuningEvent {
    match entry {
        TuningEntry::Begin { mode, tunlets, points, n_ranks } => {
            TuningEvent::Begin { mode: mode_of(mode), tunlets, points, n_ranks }
        }
        TuningEntry::Iteration(news) => {
            let (number, duration_s, work) = (news.number, news.duration_s, news.work);
            TuningEvent::Iteration { number, duration_s, work }
        }
        TuningEntry::Decision { decision, tunlet, point, old, new, reason } => {
            let (old, new) = (old.map(Into::into), new.into());
            TuningEvent::Decision { decision, tunlet, point, old, new, reason }
        }
        TuningEntry::Would { decision } => TuningEvent::Would { decision },
        TuningEntry::Declined { decision, reason } => TuningEvent::Declined { decision, reason },
        TuningEntry::Applied { decision, old, new, rank, n_ranks, hit, iteration } => {
            let (old, new, rank) = (old.into(), new.into(), rank.0);
            TuningEvent::Applied { decision, old, new, rank, n_ranks, hit, iteration }
        }
        TuningEntry::Effect { decision, before_s, after_s, change } => {
            TuningEvent::Effect { decision, effect: Effect { before_s, after_s, change } }
        }
        TuningEntry::Kept { decision, reason } => TuningEvent::Kept { decision, reason },
        TuningEntry::Undone { decision, reason } => TuningEvent::Undone { decision, reason },
        TuningEntry::Lost { decision, reason } => TuningEvent::Lost { decision, reason },
        TuningEntry::TunletEnded { tunlet, reason } => TuningEvent::TunletEnded { tunlet, reason },
        TuningEntry::Said { tunlet, text } => TuningEvent::Said { tunlet, text },
    }
}
