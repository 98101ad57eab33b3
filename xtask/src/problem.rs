//! Broken rule at a place in the tree.

use std::fmt;

/// Broken rule, with its place and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, counted from one; `None` for the whole file.
    pub line: Option<usize>,
    /// Sentence that says what is wrong and what to do.
    pub sentence: String,
}

impl Problem {
    /// Makes a problem of a whole file.
    pub fn of_file(path: &str, sentence: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, sentence: sentence.into() }
    }

    /// Makes a problem of one line, counted from one.
    pub fn of_line(path: &str, line: usize, sentence: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), sentence: sentence.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.sentence),
            None => write!(f, "{}: {}", self.path, self.sentence),
        }
    }
}
