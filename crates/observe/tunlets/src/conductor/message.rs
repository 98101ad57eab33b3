//! Inputs and outputs of a conductor.

use crate::{EventNews, Performance, SummaryNews};
use events::tuning::{IterationCalls, TuningLine};
use events::{Rank, Value};

/// Input of a conductor.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A rank has appeared and accepts orders.
    RankAppeared {
        /// The rank.
        rank: Rank,
        /// Number of ranks of the program.
        n_ranks: u32,
    },
    /// A rank ended, or no longer accepts orders.
    RankGone(Rank),
    /// Current values of tuning points in the program, by position.
    Values(Vec<(usize, Value)>),
    /// A rank passed a measurement point.
    Event(EventNews),
    /// News about the iterations of a program without described ones.
    Iterations(IterationSource),
    /// One of these iterations ended.
    IterationEnded {
        /// Time of its start, in s since the start of the run.
        start_s: f64,
        /// Time of its end, in s since the start of the run.
        end_s: f64,
        /// Amount of work.
        work: f64,
    },
    /// Sums over many passages of a measurement point.
    Summary(SummaryNews),
    /// Efficiencies of the last few seconds.
    Performance(Performance),
    /// A rank has reported about an action.
    Report {
        /// Number of the action.
        action: u64,
        /// The rank.
        rank: Rank,
        /// Its report.
        report: ActionReport,
    },
    /// The user switches tuning on or off; off takes every change back.
    Switch {
        /// On or off.
        is_on: bool,
    },
    /// Passing of time.
    Tick,
}

/// Source of the iterations of a program whose description has none.
#[derive(Clone, Debug, PartialEq)]
pub enum IterationSource {
    /// They are looked for; changes wait.
    Sought,
    /// A call of MPI ends each.
    Found {
        /// Sentence about the call.
        text: String,
        /// Duration of an iteration in s; 0 if it is not known yet.
        duration_s: f64,
        /// MPI calls in an iteration, if they were counted.
        calls: Option<IterationCalls>,
    },
    /// No call ends them: windows of time are compared, with the calls in them for their work.
    Windows {
        /// Sentence about the calls.
        text: String,
        /// Duration of a window in s.
        duration_s: f64,
    },
    /// There are none, for the reason in this sentence.
    Unknown(String),
}

impl IterationSource {
    /// Returns the sentence about it, if there is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Sought => None,
            Self::Found { text, .. } | Self::Windows { text, .. } | Self::Unknown(text) => {
                Some(text)
            }
        }
    }

    /// Returns the duration of an iteration in s, if there are any; 0 if it is not known yet.
    pub(super) fn duration_s(&self) -> Option<f64> {
        match self {
            Self::Found { duration_s, .. } | Self::Windows { duration_s, .. } => Some(*duration_s),
            Self::Sought | Self::Unknown(_) => None,
        }
    }

    /// Returns the MPI calls in an iteration, if they were counted.
    pub(super) fn calls(&self) -> Option<IterationCalls> {
        if let Self::Found { calls, .. } = self { *calls } else { None }
    }
}

/// Report of a rank about an action.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionReport {
    /// The rank is able to carry it out.
    Ready {
        /// Number of sync-point passages so far.
        n_hits: u32,
        /// Value that would be changed.
        old: Value,
        /// Sentence about what will be done, where the value does not say it; else empty.
        note: String,
    },
    /// The rank has carried it out.
    Done(ActionDone),
    /// The rank cannot, or could not, carry it out, with the reason.
    Failed(String),
    /// The rank no longer holds the action.
    Withdrawn {
        /// Number of times it had been carried out.
        n_done: u32,
    },
    /// The rank has ended.
    Gone,
}

/// Execution of an action on one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActionDone {
    /// The rank.
    pub rank: Rank,
    /// Time in seconds since the start of the run.
    pub time_s: f64,
    /// Number of sync-point passages, this one included.
    pub hit: u32,
    /// Value before.
    pub old: Value,
    /// Value now.
    pub new: Value,
}

/// Output of a conductor.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Ask ranks whether they can carry out an action.
    Prepare {
        /// Number of the action.
        action: u64,
        /// Position of the tuning point.
        point: usize,
        /// Ranks, with the value for each.
        values: Vec<(Rank, Value)>,
        /// True to set the value at every passage of the sync point, until another action of this point is
        /// committed, instead of once.
        repeats: bool,
    },
    /// Let ranks carry out an action.
    Commit {
        /// Number of the action.
        action: u64,
        /// The ranks.
        ranks: Vec<Rank>,
        /// Number of the sync-point passage from which on to carry it out; 0 for the next one.
        at_hit: u32,
    },
    /// Withdraw an action from ranks.
    Withdraw {
        /// Number of the action.
        action: u64,
        /// The ranks.
        ranks: Vec<Rank>,
    },
    /// Record a line.
    Record(TuningLine),
}
