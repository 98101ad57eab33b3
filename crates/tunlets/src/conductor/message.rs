//! What a conductor hears and wants done.

use super::Line;
use crate::{EventNews, Performance, SummaryNews};
use events::{Rank, Value};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A rank is there and takes orders.
    RankAppeared {
        /// Which one.
        rank: Rank,
        /// Ranks of the program.
        n_ranks: u32,
    },
    /// A rank ended, or takes no more orders.
    RankGone {
        /// Which one.
        rank: Rank,
    },
    /// Values that tuning points have in the program.
    Values(Vec<(usize, Value)>),
    /// A rank passed a measurement point.
    Event(EventNews),
    /// Many passages of a measurement point.
    Summary(SummaryNews),
    /// Efficiencies of the last seconds.
    Performance(Performance),
    /// A rank can carry out an action.
    Ready {
        /// The action.
        action: u64,
        /// The rank.
        rank: Rank,
        /// Passages of the sync point so far.
        n_hits: u32,
        /// The value that would change.
        old: Value,
    },
    /// A rank cannot.
    Refused {
        /// The action.
        action: u64,
        /// The rank.
        rank: Rank,
        /// Why.
        reason: String,
    },
    /// A rank has carried an action out, or failed to.
    Acknowledged(Acknowledged),
    /// A rank no longer keeps an action.
    Withdrawn {
        /// The action.
        action: u64,
        /// The rank.
        rank: Rank,
        /// How often it had been carried out.
        n_done: u32,
    },
    /// Time passes.
    Tick,
}

/// What a rank says of an action that it has carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Acknowledged {
    /// The action.
    pub action: u64,
    /// The rank.
    pub rank: Rank,
    /// When, in seconds since the start of the run.
    pub time_s: f64,
    /// Passages of the sync point, this one included.
    pub hit: u32,
    /// Value before.
    pub old: Value,
    /// Value now.
    pub new: Value,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The tunlets began: from now on [`Conductor::wants`] says what is to be measured.
    Begun,
    /// Ask ranks whether they can carry out an action.
    Prepare {
        /// Number of the action.
        action: u64,
        /// Position of the tuning point.
        point: usize,
        /// Which ranks, and the value on each.
        values: Vec<(Rank, Value)>,
        /// At every passage of the sync point, not once: until another action of this point is committed.
        repeats: bool,
    },
    /// Let them.
    Commit {
        /// Number of the action.
        action: u64,
        /// Which ranks.
        ranks: Vec<Rank>,
        /// At this passage of the sync point or the first later one; 0 for the next.
        at_hit: u32,
    },
    /// Do not.
    Withdraw {
        /// Number of the action.
        action: u64,
        /// Which ranks.
        ranks: Vec<Rank>,
    },
    /// A line for the record.
    Record(Line),
}
