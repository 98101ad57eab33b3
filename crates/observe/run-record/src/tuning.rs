//! `tuning.jsonl`: journal of decisions and actions while the program runs, one line each.
//!
//! # Invariants
//! - A line is passed to the system in one write before `append` returns, so it survives the death of this
//!   process; a torn line ends at the start of the next one and only that line is lost.
//! - A reader returns every complete line, and a sentence for each invalid one.

pub mod summary;

pub use events::tuning::{
    Effect, IterationCalls, TuningEvent, TuningLine, TuningMode, TuningValue,
};
pub use summary::{DecisionOutcome, DecisionSummary, TuningSummary, TunletSummary};

use crate::file_error::FileError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Maximum number of lines read; a file with more is damaged or of an endless run.
const N_LINES_MAX: usize = 4_000_000;
/// Maximum number of sentences about invalid lines.
const N_PROBLEMS_MAX: usize = 20;

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
