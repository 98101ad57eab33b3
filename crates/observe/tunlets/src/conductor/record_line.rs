//! Lines that a conductor wants recorded.

use super::Mode;
use crate::IterationNews;
use events::{Rank, Value};

/// A line for the record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordLine {
    /// Seconds since the start of the run.
    pub time_s: f64,
    /// Content of the line.
    pub entry: TuningEntry,
}

/// Content of a line; `run_record::tuning` explains each.
#[derive(Clone, Debug, PartialEq)]
pub enum TuningEntry {
    /// The tunlets began.
    Begin {
        /// Permissions of the tunlets.
        mode: Mode,
        /// Names of the tunlets.
        tunlets: Vec<String>,
        /// Names of the tuning points.
        points: Vec<String>,
        /// Number of ranks of the program.
        n_ranks: u32,
    },
    /// An iteration ended.
    Iteration(IterationNews),
    /// A decision was taken up.
    Decision {
        /// Number of the decision.
        decision: u64,
        /// Name of the tunlet that decided.
        tunlet: String,
        /// Name of the tuning point.
        point: String,
        /// Value until now, if known.
        old: Option<Value>,
        /// Wanted value.
        new: Value,
        /// Reason.
        reason: String,
    },
    /// The decision would be carried out (dry run).
    Would {
        /// Number of the decision.
        decision: u64,
    },
    /// The decision is not carried out.
    Declined {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// The decision was carried out.
    Applied {
        /// Number of the decision.
        decision: u64,
        /// Value before, on the first rank.
        old: Value,
        /// Value after, on the first rank.
        new: Value,
        /// The first rank.
        rank: Rank,
        /// Number of ranks on which it was carried out.
        n_ranks: u32,
        /// Number of sync-point passages on the first rank.
        hit: u32,
        /// Number of the iteration in progress.
        iteration: u64,
    },
    /// Measured effect of the decision.
    Effect {
        /// Number of the decision.
        decision: u64,
        /// Median seconds per unit of work before.
        before_s: f64,
        /// Median seconds per unit of work after.
        after_s: f64,
        /// Relative change of the time.
        change: f64,
    },
    /// The decision stays in effect.
    Kept {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// The decision was undone.
    Undone {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// It is unknown on which ranks the decision holds.
    Lost {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// A tunlet ended.
    TunletEnded {
        /// Name of the tunlet.
        tunlet: String,
        /// Reason.
        reason: String,
    },
    /// A tunlet wrote a line for the user.
    Said {
        /// Name of the tunlet.
        tunlet: String,
        /// Text of the line.
        text: String,
    },
}
