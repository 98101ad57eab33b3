//! `resizes.jsonl`: changes of a malleable program's number of ranks, one line each.
//!
//! The program itself writes the file, into the record of a monitored run and into the folder given by its own
//! option `--record`.
//!
//! # Invariants
//! - A reader returns every line that it understands, and counts the others.

use crate::file_error::FileError;
use resize_api::Resize;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// File name, the same in either folder.
pub const NAME: &str = "resizes.jsonl";

/// Maximum number of lines kept.
const N_LINES_MAX: usize = 10_000;

/// Content of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResizeLines {
    /// Resizes in the order in which they ended.
    pub resizes: Vec<Resize>,
    /// Number of lines beyond the maximum.
    pub n_left_out: usize,
    /// Number of lines that are damaged or not understood.
    pub n_unreadable: usize,
}

impl ResizeLines {
    /// Reads the file in `folder`; `None` if it does not exist.
    ///
    /// # Errors
    /// When the file exists and cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>, FileError> {
        let path = folder.join(NAME);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| FileError::new(&path, error))?,
        };
        let mut lines = Self::default();
        for line in BufReader::new(file).split(b'\n') {
            lines.add(&line.map_err(|error| FileError::new(&path, error))?);
        }
        Ok(Some(lines))
    }

    fn add(&mut self, line: &[u8]) {
        let is_whole = checked_json::check(line).is_ok();
        match serde_json::from_slice(line) {
            Ok(_) if !is_whole => self.n_unreadable += 1,
            Ok(_) if N_LINES_MAX <= self.resizes.len() => self.n_left_out += 1,
            Ok(resize) => self.resizes.push(resize),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => self.n_unreadable += 1,
        }
    }

    /// Returns sentences about the lines missing in [`ResizeLines::resizes`].
    pub fn problems(&self) -> Vec<String> {
        let counted = [
            (self.n_left_out, "further resizes are in `resizes.jsonl` only"),
            (
                self.n_unreadable,
                "lines of `resizes.jsonl` are damaged, or say nothing that this version understands",
            ),
        ];
        let counted = counted.iter().filter(|(n, _)| *n != 0);
        counted.map(|(n, what)| format!("{n} {what}.")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_line_costs_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ResizeLines::read(folder.path()).unwrap(), None);
        let resize = |to| Resize { from: 2, to, ..Resize::default() };
        let line = |to| serde_json::to_string(&resize(to)).unwrap();
        let text = format!("{}\n{{\"torn\": \n\n{}\n", line(4), line(3));
        std::fs::write(folder.path().join(NAME), text).unwrap();
        let lines = ResizeLines::read(folder.path()).unwrap().unwrap();
        assert_eq!(lines.resizes, [resize(4), resize(3)]);
        assert_eq!((lines.n_unreadable, lines.problems().len()), (1, 1));
    }

    #[test]
    fn lines_are_bounded() {
        let mut lines = ResizeLines::default();
        let line = serde_json::to_vec(&Resize::default()).unwrap();
        (0..N_LINES_MAX + 3).for_each(|_| lines.add(&line));
        assert_eq!((lines.resizes.len(), lines.n_left_out), (N_LINES_MAX, 3));
    }
}
