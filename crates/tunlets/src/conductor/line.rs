//! What a conductor wants recorded.

use super::Mode;
use crate::IterationNews;
use events::{Rank, Value};

/// A line for the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// When, in seconds since the start of the run.
    pub time_s: f64,
    /// What.
    pub what: Noted,
}

/// What a line says; `run_record::tuning` explains each.
#[derive(Clone, Debug, PartialEq)]
pub enum Noted {
    /// The tunlets begin.
    Begin {
        /// What they may do.
        mode: Mode,
        /// Their names.
        tunlets: Vec<String>,
        /// Names of the tuning points.
        points: Vec<String>,
        /// Ranks of the program.
        n_ranks: u32,
    },
    /// An iteration ended.
    Iteration(IterationNews),
    /// A decision is taken up.
    Decision {
        /// Its number.
        decision: u64,
        /// Whose.
        tunlet: String,
        /// Name of the tuning point.
        point: String,
        /// Value until now, where it is known.
        old: Option<Value>,
        /// Value wanted.
        new: Value,
        /// Why.
        reason: String,
    },
    /// It would be carried out.
    Would {
        /// Number of the decision.
        decision: u64,
    },
    /// It is not carried out.
    Declined {
        /// Number of the decision.
        decision: u64,
        /// Why.
        reason: String,
    },
    /// It was carried out.
    Applied {
        /// Number of the decision.
        decision: u64,
        /// Value before, on the first rank.
        old: Value,
        /// Value after, there.
        new: Value,
        /// The first rank.
        rank: Rank,
        /// How many ranks.
        n_ranks: u32,
        /// Passages of the sync point there.
        hit: u32,
        /// The iteration that was under way.
        iteration: u64,
    },
    /// What it did.
    Effect {
        /// Number of the decision.
        decision: u64,
        /// Median seconds per unit of work before.
        before_s: f64,
        /// The same after.
        after_s: f64,
        /// Relative change.
        change: f64,
    },
    /// It stays.
    Kept {
        /// Number of the decision.
        decision: u64,
        /// Why.
        reason: String,
    },
    /// It was taken back.
    Undone {
        /// Number of the decision.
        decision: u64,
        /// Why.
        reason: String,
    },
    /// It is not known where it holds.
    Lost {
        /// Number of the decision.
        decision: u64,
        /// What happened.
        reason: String,
    },
    /// A tunlet ended.
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
}
