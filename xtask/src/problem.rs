//! What a rule says about a place in the tree.

use std::fmt;

/// A broken rule, with its place and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, counted from one; nothing where the whole file is meant.
    pub line: Option<usize>,
    /// What is wrong and what to do, as a sentence.
    pub sentence: String,
}

impl Problem {
    /// A problem of a whole file.
    pub fn of_file(path: &str, sentence: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, sentence: sentence.into() }
    }

    /// A problem of one line, counted from one.
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
