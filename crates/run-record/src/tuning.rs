//! `tuning.jsonl`: what was decided and done while the program ran, a line at a time.
//!
//! # Invariants
//! - A line is handed to the system in one write before `append` returns, so it survives the death of this
//!   process; a torn line ends with the next line's start and costs only itself.
//! - A reader returns every whole line, and a sentence for each that is none.
//! - A decision keeps its number through all its lines: `decision`, then `would`, `declined`, or `applied`;
//!   after `applied` come `effect` (when it could be measured) and `kept`, `undone` or `lost`.
//!
//! # Not here
//! Who decides (`tunlets`), and pictures of it (`dashboard`).

pub mod summary;

pub use summary::{DecisionStory, Effect, Outcome, TuningSummary, TunletStory};

use crate::file_error::FileError;
use events::Value;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Lines read at most; a file with more is damaged or of a run without end.
const N_LINES_MAX: usize = 4_000_000;
/// Sentences about lines kept at most.
const N_PROBLEMS_MAX: usize = 20;

/// What tunlets may do in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuningMode {
    /// Only look.
    Observe,
    /// Say what would be done.
    DryRun,
    /// Change the program.
    #[default]
    Tune,
}

/// A value of a tuning point, in JSON a plain number; what is no number is written as `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// An integer above 2^63 - 1.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
    /// No number (JSON has neither NaN nor infinity).
    Unknown(()),
}

/// A line of `tuning.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningLine {
    /// When, in seconds since the start of the run.
    pub t_s: f64,
    /// What.
    #[serde(flatten)]
    pub what: TuningEvent,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TuningEvent {
    /// The tunlets began.
    Begin {
        /// What they may do.
        mode: TuningMode,
        /// Their names, in the order of the command line.
        tunlets: Vec<String>,
        /// Tuning points of the description.
        points: Vec<String>,
        /// Ranks of the program.
        n_ranks: u32,
    },
    /// An iteration of the program ended at `t_s`.
    Iteration {
        /// Number, from 0.
        number: u64,
        /// How long it took.
        duration_s: f64,
        /// Its work as the description defines it; 1 where it does not.
        work: f64,
    },
    /// A tunlet's decision was taken up.
    Decision {
        /// Number of the decision.
        decision: u64,
        /// Whose.
        tunlet: String,
        /// Name of the tuning point.
        point: String,
        /// Its value until now, where it is known.
        old: Option<Number>,
        /// The value wanted.
        new: Number,
        /// Why.
        reason: String,
    },
    /// It would have been carried out, had this not been a dry run.
    Would {
        /// Number of the decision.
        decision: u64,
    },
    /// It was not carried out; where some ranks had, their values were set back.
    Declined {
        /// Number of the decision.
        decision: u64,
        /// Why not.
        reason: String,
    },
    /// It was carried out on all ranks of its actor.
    Applied {
        /// Number of the decision.
        decision: u64,
        /// Value before, on the first of the ranks.
        old: Number,
        /// Value after, there.
        new: Number,
        /// The first of the ranks.
        rank: u32,
        /// How many ranks.
        n_ranks: u32,
        /// Passages of the sync point, this one included.
        hit: u32,
        /// Number of the iteration that was under way.
        iteration: u64,
    },
    /// What it did to the iterations.
    Effect {
        /// Number of the decision.
        decision: u64,
        /// The same numbers as in the summary.
        #[serde(flatten)]
        effect: Effect,
    },
    /// It stays.
    Kept {
        /// Number of the decision.
        decision: u64,
        /// Why: its effect, or that it could not be measured.
        reason: String,
    },
    /// It was taken back on all ranks.
    Undone {
        /// Number of the decision.
        decision: u64,
        /// Why.
        reason: String,
    },
    /// It is not known on which ranks it holds.
    Lost {
        /// Number of the decision.
        decision: u64,
        /// What happened.
        reason: String,
    },
    /// A tunlet ended, or never began, before the run's end.
    TunletEnded {
        /// Its name.
        tunlet: String,
        /// Why.
        reason: String,
    },
    /// A tunlet said something to people.
    Said {
        /// Its name.
        tunlet: String,
        /// A line.
        text: String,
    },
    /// Something that a person should know.
    Warning {
        /// The sentence.
        text: String,
    },
    /// The run is over.
    End {
        /// Events that came faster than they were looked at: tunlets did not hear of them (the record has them).
        n_events_unheard: u64,
    },
}

impl From<Value> for Number {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(whole) => Self::Int(whole),
            Value::Uint(whole) => Self::Uint(whole),
            Value::Float(number) if number.is_finite() => Self::Float(number),
            Value::Float(_) => Self::Unknown(()),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(whole) => whole.fmt(f),
            Self::Uint(whole) => whole.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Unknown(()) => f.write_str("?"),
        }
    }
}

/// Appends lines.
#[derive(Debug)]
pub struct TuningWriter {
    path: PathBuf,
    file: File,
    /// The last line may have no end: the next one starts with one.
    is_torn: bool,
}

impl TuningWriter {
    /// Opens the file, made when it is not there; what it holds stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |error| FileError::new(path, error);
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(fail)?;
        let is_torn = file.metadata().map_err(fail)?.len() != 0;
        Ok(Self { path: path.to_owned(), file, is_torn })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// When the file does not take it.
    pub fn append(&mut self, line: &TuningLine) -> Result<(), FileError> {
        let mut text = Vec::new();
        if self.is_torn {
            text.push(b'\n');
        }
        // Into memory, and with keys that are strings: nothing can fail.
        serde_json::to_writer(&mut text, line).map_err(|e| FileError::new(&self.path, e.into()))?;
        text.push(b'\n');
        let written = self.file.write_all(&text);
        self.is_torn = written.is_err();
        written.map_err(|e| FileError::new(&self.path, e))
    }
}

/// Lines of a file, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuningLines {
    /// Every whole line, in order.
    pub lines: Vec<TuningLine>,
    /// A sentence for each of the others, the first of them.
    pub problems: Vec<String>,
}

/// Reads a file; none when it is not there.
///
/// # Errors
/// When it cannot be read.
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
                "line {number} of `tuning.jsonl` is torn or was not written by us ({error}); it is left out"
            )),
            Err(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
