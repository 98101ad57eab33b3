//! `tuning.jsonl`: journal of decisions and actions while the program runs, one line each.
//!
//! # Invariants
//! - A line is passed to the system in one write before `append` returns, so it survives the death of this
//!   process; a torn line ends at the start of the next one and only that line is lost.
//! - A reader returns every complete line, and a sentence for each invalid one.
//! - All lines of a decision carry its number: `decision`, then `would`, `declined`, or `applied`; after
//!   `applied` come `effect` (if it could be measured) and `kept`, `undone` or `lost`.
//!
//! # Not here
//! Decisions (`tunlets`), and their charts (`report`).

pub mod summary;

pub use summary::{DecisionSummary, Effect, Outcome, TuningSummary, TunletSummary};

use crate::file_error::FileError;
use events::Value;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Maximum number of lines read; a file with more is damaged or of an endless run.
const N_LINES_MAX: usize = 4_000_000;
/// Maximum number of sentences about invalid lines.
const N_PROBLEMS_MAX: usize = 20;

/// Mode of a tuned run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuningMode {
    /// Only observe.
    Observe,
    /// Report what would be done.
    DryRun,
    /// Change the program.
    #[default]
    Tune,
}

/// Value of a tuning point, in JSON a plain number; anything else is written as `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TuningValue {
    /// An integer.
    Int(i64),
    /// An integer above 2^63 - 1.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
    /// Not a number (JSON has neither NaN nor infinity).
    Unknown(()),
}

/// Line of `tuning.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningLine {
    /// Time in seconds since the start of the run.
    pub t_s: f64,
    /// Content of the line.
    #[serde(flatten)]
    pub what: TuningEvent,
}

/// Content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TuningEvent {
    /// The tunlets started.
    Begin {
        /// Mode of the run.
        mode: TuningMode,
        /// Names of the tunlets, in the order of the command line.
        tunlets: Vec<String>,
        /// Tuning points of the description.
        points: Vec<String>,
        /// Number of ranks of the program.
        n_ranks: u32,
    },
    /// An iteration of the program ended at `t_s`.
    Iteration {
        /// Number of the iteration, from 0.
        number: u64,
        /// Duration in s.
        duration_s: f64,
        /// Work of the iteration as defined by the description; 1 where it defines none.
        work: f64,
    },
    /// A tunlet's decision was accepted.
    Decision {
        /// Number of the decision.
        decision: u64,
        /// Name of the tunlet.
        tunlet: String,
        /// Name of the tuning point.
        point: String,
        /// Current value, if known.
        old: Option<TuningValue>,
        /// Requested value.
        new: TuningValue,
        /// Reason for the decision.
        reason: String,
    },
    /// The decision would have been carried out, had this not been a dry run.
    Would {
        /// Number of the decision.
        decision: u64,
    },
    /// The decision was not carried out; values already set on some ranks were restored.
    Declined {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// The decision was carried out on all ranks of its actor.
    Applied {
        /// Number of the decision.
        decision: u64,
        /// Value before, on the first of the ranks.
        old: TuningValue,
        /// Value after, on the first of the ranks.
        new: TuningValue,
        /// First of the ranks.
        rank: u32,
        /// Number of ranks.
        n_ranks: u32,
        /// Passages of the sync point, this one included.
        hit: u32,
        /// Number of the iteration in progress.
        iteration: u64,
    },
    /// Measured effect of a decision on the iterations.
    Effect {
        /// Number of the decision.
        decision: u64,
        /// Numbers, as in the summary.
        #[serde(flatten)]
        effect: Effect,
    },
    /// The change is kept.
    Kept {
        /// Number of the decision.
        decision: u64,
        /// Reason: the effect, or that it could not be measured.
        reason: String,
    },
    /// The change was reverted on all ranks.
    Undone {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// It is unknown on which ranks the change is in effect.
    Lost {
        /// Number of the decision.
        decision: u64,
        /// Cause.
        reason: String,
    },
    /// A tunlet ended, or failed to start, before the end of the run.
    TunletEnded {
        /// Name of the tunlet.
        tunlet: String,
        /// Reason.
        reason: String,
    },
    /// Message of a tunlet to the user.
    Said {
        /// Name of the tunlet.
        tunlet: String,
        /// One line of text.
        text: String,
    },
    /// Warning to the user.
    Warning {
        /// Sentence.
        text: String,
    },
    /// The run ended.
    End {
        /// Events that arrived faster than they were processed: tunlets did not receive them (the record has them).
        n_events_unheard: u64,
    },
}

impl From<Value> for TuningValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(whole) => Self::Int(whole),
            Value::Uint(whole) => Self::Uint(whole),
            Value::Float(number) if number.is_finite() => Self::Float(number),
            Value::Float(_) => Self::Unknown(()),
        }
    }
}

impl std::fmt::Display for TuningValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(whole) => whole.fmt(f),
            Self::Uint(whole) => whole.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Unknown(()) => f.write_str("?"),
        }
    }
}

/// Writer that appends lines.
#[derive(Debug)]
pub struct TuningWriter {
    path: PathBuf,
    file: File,
    /// Whether the last line may be incomplete: the next append then starts with a newline.
    is_torn: bool,
}

impl TuningWriter {
    /// Opens the file, or creates it; existing lines are kept.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |error| FileError::new(path, error);
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(fail)?;
        let is_torn = file.metadata().map_err(fail)?.len() != 0;
        Ok(Self { path: path.to_owned(), file, is_torn })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, line: &TuningLine) -> Result<(), FileError> {
        let mut text = Vec::new();
        if self.is_torn {
            text.push(b'\n');
        }
        // Serializing into memory, with strings as keys, cannot fail.
        serde_json::to_writer(&mut text, line).map_err(|e| FileError::new(&self.path, e.into()))?;
        text.push(b'\n');
        let written = self.file.write_all(&text);
        self.is_torn = written.is_err();
        written.map_err(|e| FileError::new(&self.path, e))
    }
}

/// Lines of a file, and problems of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuningLines {
    /// All complete lines, in order.
    pub lines: Vec<TuningLine>,
    /// Sentences about the first invalid lines.
    pub problems: Vec<String>,
}

/// Reads a file; `None` if it does not exist.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Option<TuningLines>, FileError> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(parse(&read.map_err(|e| FileError::new(path, e))?))),
    }
}

/// Reads the lines of `text`.
pub fn parse(text: &[u8]) -> TuningLines {
    let mut found = TuningLines::default();
    let lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()).take(N_LINES_MAX) {
        match serde_json::from_slice(line) {
            Ok(line) => found.lines.push(line),
            Err(error) if found.problems.len() < N_PROBLEMS_MAX => found.problems.push(format!(
                "line {number} of `tuning.jsonl` is incomplete or was not written by Sintonia ({error}); it is skipped"
            )),
            Err(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
