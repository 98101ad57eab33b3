//! Problems in lines of the table.

use std::fmt;

/// Line that was left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the line, counted from 1.
    pub line_number: usize,
    trouble: Trouble,
}

impl Problem {
    pub(super) fn new(line_number: usize, trouble: Trouble) -> Self {
        Self { line_number, trouble }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line_number, self.trouble)
    }
}

impl std::error::Error for Problem {}

/// Reason why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    NoName,
    NoAccounting,
    UnknownClass(String),
    UnknownMode(String),
    UnknownKind(String),
    UnknownClause(String),
    UnknownParam { name: String, expression: String },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = "use one of those listed at the top of the table";
        match self {
            Self::NoName => write!(f, "the name of the operation is missing: start with it"),
            Self::NoAccounting => {
                write!(f, "`|` and what the call moves are missing: end the line with `| none`")
            }
            Self::UnknownClass(name) => write!(f, "`{name}` is no class: {listed}"),
            Self::UnknownMode(name) => write!(f, "`{name}` is no mode: {listed}"),
            Self::UnknownKind(word) => {
                write!(f, "`{word}` is not `name:kind` with a kind listed at the top of the table")
            }
            Self::UnknownClause(clause) => write!(f, "`{clause}` is no clause: {listed}"),
            Self::UnknownParam { name, expression } => {
                write!(f, "`{name}` is no parameter of the kind needed in `{expression}`")
            }
        }
    }
}
