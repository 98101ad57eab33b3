//! Reasons why a list cannot be read.

use crate::{N_NODES_MAX, NAME_BYTES_MAX};

/// Reasons why a list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeListError {
    /// A bracket is not closed, was not opened, or stands inside another one.
    #[error(
        "the brackets of the node list `{list}` do not match; write it as `node[01-03,7],gpu1`"
    )]
    Brackets {
        /// The list.
        list: String,
    },
    /// A text in brackets is neither a number nor a range.
    #[error("`{range}` in the node list `{list}` is no range; write `7` or `01-03`")]
    Range {
        /// The list.
        list: String,
        /// The text in brackets.
        range: String,
    },
    /// A name is empty.
    #[error("the node list `{list}` has an empty name; write it as `node[01-03,7],gpu1`")]
    Empty {
        /// The list.
        list: String,
    },
    /// A number of places or processors is missing or not a number.
    #[error(
        "`{word}` in the node list `{list}` has no number of places; write `node1:4`, or `4(x2)` for counts"
    )]
    Count {
        /// The list.
        list: String,
        /// The text in its place.
        word: String,
    },
    /// The list has more nodes than any cluster.
    #[error("the node list `{list}` has more than {N_NODES_MAX} nodes")]
    TooMany {
        /// The list.
        list: String,
    },
    /// A name is longer than names can be.
    #[error("the node list `{list}` has a name of more than {NAME_BYTES_MAX} bytes")]
    TooLong {
        /// The list.
        list: String,
    },
}

/// Error in a host file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostFileError {
    /// A word is not recognized.
    #[error("line {line} of the host file has `{word}`; write `NAME slots=N`")]
    Word {
        /// Number of the line, from 1.
        line: usize,
        /// Word that is not recognized.
        word: String,
    },
    /// The names are not a valid list of nodes.
    #[error("line {line} of the host file is wrong: {source}")]
    Names {
        /// Number of the line, from 1.
        line: usize,
        /// Cause.
        source: NodeListError,
    },
    /// The file names no host.
    #[error("the host file names no host; write a line `NAME slots=N` for each")]
    Empty,
}

/// Kind of mistake in a part of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrong {
    Range,
    Count,
}

impl Wrong {
    /// Error for this `part` of `list`.
    pub(crate) fn in_list(self, list: &str, part: &str) -> NodeListError {
        let (list, part) = (list.to_owned(), part.to_owned());
        match self {
            Self::Range => NodeListError::Range { list, range: part },
            Self::Count => NodeListError::Count { list, word: part },
        }
    }
}
