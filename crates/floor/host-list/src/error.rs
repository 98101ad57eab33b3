//! Reasons why a list cannot be read.

use crate::{N_NODES_MAX, NAME_BYTES_MAX};

/// Mistake in a list of nodes, in a sentence that quotes the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NodeListError(String);

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

/// Kind of mistake in a list; texts are the parts of the list with the mistake.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mistake<'a> {
    /// A bracket is not closed, was not opened, or stands inside another one.
    Brackets,
    /// A text in brackets is neither a number nor a range.
    Range(&'a str),
    /// A name is empty.
    Empty,
    /// A number of places or processors is missing or not a number.
    Count(&'a str),
    /// The list has more nodes than any cluster.
    TooMany,
    /// A name is longer than names can be.
    TooLong,
}

impl Mistake<'_> {
    /// Error for this mistake in `list`.
    pub(crate) fn in_list(self, list: &str) -> NodeListError {
        let form = "write it as `node[01-03,7],gpu1`";
        NodeListError(match self {
            Self::Brackets => {
                format!("the brackets of the node list `{list}` do not match; {form}")
            }
            Self::Range(range) => {
                format!("`{range}` in the node list `{list}` is no range; write `7` or `01-03`")
            }
            Self::Empty => format!("the node list `{list}` has an empty name; {form}"),
            Self::Count(word) => format!(
                "`{word}` in the node list `{list}` has no number of places; write `node1:4`, or `4(x2)` for counts"
            ),
            Self::TooMany => format!("the node list `{list}` has more than {N_NODES_MAX} nodes"),
            Self::TooLong => {
                format!("the node list `{list}` has a name of more than {NAME_BYTES_MAX} bytes")
            }
        })
    }
}
