//! Explanation of a program that stands still.

use serde::{Deserialize, Serialize};

/// Explanation of a program whose ranks wait and do not go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hang {
    /// Shortest time for which one of the waiting ranks had waited, in s.
    pub waited_s: f64,
    /// Sentences about the causes, those that hold up most ranks first.
    pub sentences: Vec<String>,
    /// State of all ranks, those alike together.
    pub ranks: Vec<WaitingRanks>,
}

/// Ranks in the same state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitingRanks {
    /// Index in [`super::Summary::worlds`].
    pub world: usize,
    /// The ranks, as `0-3, 7`.
    pub ranks: String,
    /// Number of the ranks.
    pub n_ranks: usize,
    /// State: a call with its place, `outside MPI`, `in MPI_Finalize`, or `ended`.
    pub state: String,
    /// Ranks for which they wait; empty if they do not, or if it is not known.
    pub waits_for: String,
    /// Shortest time for which one of them has been in that state, in s.
    pub since_s: f64,
}
