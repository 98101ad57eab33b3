//! Lines about tuning: what tunlets decided, what was done, and what came of it.
//!
//! The conductor writes them, `tuning.jsonl` holds them, the summary and the reports are made from them. All lines of a
//! decision carry its number: `decision`, then `would`, `declined`, or `applied`; after `applied` come `effect` (if it
//! could be measured) and `kept`, `undone` or `lost`.

use crate::Value;
use serde::{Deserialize, Serialize};

/// Mode of a tuned run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuningMode {
    /// Only observe.
    Observe,
    /// Report what would be done.
    DryRun,
    /// Change the program.
    #[default]
    Tune,
}

/// Value of a tuning point, in JSON a plain number; anything else is written as `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TuningValue {
    /// An integer.
    Int(i64),
    /// An integer above 2^63 - 1.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
    /// Not a number (JSON has neither NaN nor infinity).
    Unknown(()),
}

/// MPI calls in a found iteration, by which iterations of several runs can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationCalls {
    /// MPI calls in a period of the program.
    pub n: f64,
    /// Periods that are measured together as one iteration.
    pub n_joined: f64,
}

/// Line of `tuning.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningLine {
    /// Time in seconds since the start of the run.
    pub t_s: f64,
    /// Content of the line.
    #[serde(flatten)]
    pub what: TuningEvent,
}

/// Content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TuningEvent {
    /// The tunlets started.
    Begin {
        /// Mode of the run.
        mode: TuningMode,
        /// Names of the tunlets, in the order of the command line.
        tunlets: Vec<String>,
        /// Tuning points of the description.
        points: Vec<String>,
        /// Number of ranks of the program.
        n_ranks: u32,
    },
    /// An iteration of the program ended at `t_s`.
    Iteration {
        /// Number of the iteration, from 0.
        number: u64,
        /// Duration in s.
        duration_s: f64,
        /// Work of the iteration as defined by the description; 1 where it defines none.
        work: f64,
    },
    /// Iterations of a program without described ones, by which changes are judged from now on.
    Iterations {
        /// Sentence: which call ends an iteration and how long one takes, or why there are none.
        text: String,
        /// MPI calls in one, if it was found among them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        calls: Option<IterationCalls>,
    },
    /// A tunlet's decision was accepted.
    Decision {
        /// Number of the decision.
        decision: u64,
        /// Name of the tunlet.
        tunlet: String,
        /// Name of the tuning point.
        point: String,
        /// Current value, if known.
        old: Option<TuningValue>,
        /// Requested value.
        new: TuningValue,
        /// Reason for the decision.
        reason: String,
    },
    /// The decision would have been carried out, had this not been a dry run.
    Would {
        /// Number of the decision.
        decision: u64,
    },
    /// The decision was not carried out; values already set on some ranks were restored.
    Declined {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// The decision was carried out on all ranks of its actor.
    Applied {
        /// Number of the decision.
        decision: u64,
        /// Value before, on the first of the ranks.
        old: TuningValue,
        /// Value after, on the first of the ranks.
        new: TuningValue,
        /// First of the ranks.
        rank: u32,
        /// Number of ranks.
        n_ranks: u32,
        /// Passages of the sync point, this one included.
        hit: u32,
        /// Number of the iteration in progress.
        iteration: u64,
    },
    /// Measured effect of a decision on the iterations.
    Effect {
        /// Number of the decision.
        decision: u64,
        /// Numbers, as in the summary.
        #[serde(flatten)]
        effect: Effect,
    },
    /// The change is kept.
    Kept {
        /// Number of the decision.
        decision: u64,
        /// Reason: the effect, or that it could not be measured.
        reason: String,
    },
    /// The change was reverted on all ranks.
    Undone {
        /// Number of the decision.
        decision: u64,
        /// Reason.
        reason: String,
    },
    /// It is unknown on which ranks the change is in effect.
    Lost {
        /// Number of the decision.
        decision: u64,
        /// Cause.
        reason: String,
    },
    /// A tunlet ended, or failed to start, before the end of the run.
    TunletEnded {
        /// Name of the tunlet.
        tunlet: String,
        /// Reason.
        reason: String,
    },
    /// Message of a tunlet to the user.
    Said {
        /// Name of the tunlet.
        tunlet: String,
        /// One line of text.
        text: String,
    },
    /// The user switched tuning on or off; off takes back what was changed.
    Switched {
        /// On or off.
        is_on: bool,
    },
    /// Warning to the user.
    Warning {
        /// Sentence.
        text: String,
    },
    /// The run ended.
    End {
        /// Events that arrived faster than they were processed: tunlets did not receive them (the record has them).
        n_events_unheard: u64,
    },
}

impl From<Value> for TuningValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(whole) => Self::Int(whole),
            Value::Uint(whole) => Self::Uint(whole),
            Value::Float(number) if number.is_finite() => Self::Float(number),
            Value::Float(_) => Self::Unknown(()),
        }
    }
}

impl std::fmt::Display for TuningValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(whole) => whole.fmt(f),
            Self::Uint(whole) => whole.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Unknown(()) => f.write_str("?"),
        }
    }
}

/// Effect of a change on the iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Median time per unit of work of the iterations before the change, in s.
    pub before_s: f64,
    /// The same for the iterations after the change, in s.
    pub after_s: f64,
    /// `after_s / before_s - 1`: negative if the change helped.
    pub change: f64,
    /// Relative difference that iterations without a change may show as well; 0 where it was not measured.
    #[serde(default)]
    pub noise: f64,
}
