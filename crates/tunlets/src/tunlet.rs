//! What a tunlet hears and says.
//!
//! Events and tuning points are positions in the lists of the [`Application`]; a tunlet looks them up by
//! name once, in [`Tunlet::begin`].

use application::Application;
use events::{Moments, Rank, Value};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the command line lists about a tunlet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunletSpec {
    /// Its name on the command line.
    pub name: String,
    /// The performance problem it is about, as half a sentence.
    pub problem: String,
    /// Names of the events it has to have in the description.
    pub needs_events: Vec<String>,
    /// Names of the tuning points it changes.
    pub needs_points: Vec<String>,
    /// Its options (`[tunlet.NAME]` in the description) and what they mean.
    pub options: Vec<(String, String)>,
}

/// Who takes part in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// Ranks of the program.
    pub n_ranks: u32,
    /// Ranks of each actor, in the order of [`Application::actors`].
    pub actors: Vec<Vec<Rank>>,
    /// The value of each tuning point when the tunlet begins, where it has one and it is known. That is in
    /// `MPI_Init`: what the program sets later comes as [`News::Applied`] that is not the tunlet's own.
    pub values: Vec<Option<Value>>,
}

/// How a tunlet wants to hear of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Not at all.
    #[default]
    None,
    /// Every passage, as [`News::Event`].
    Every,
    /// Numbers of passages added up on the way, as [`News::Summary`]: what thousands of ranks need.
    Summary,
}

/// What a tunlet wants to hear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// For each event of the description, in its order.
    pub events: Vec<Detail>,
    /// Whether it wants [`News::Performance`].
    pub performance: bool,
    /// Positions of the tuning points it may change.
    pub points: Vec<usize>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum News {
    /// A rank passed a measurement point.
    Event(EventNews),
    /// Many passages of a measurement point.
    Summary(SummaryNews),
    /// An iteration ended (on the rank that measures them).
    Iteration(IterationNews),
    /// Efficiencies of the last seconds.
    Performance(Performance),
    /// A change was made.
    Applied(Applied),
    /// A decision of this tunlet was not carried out, or was taken back.
    Declined {
        /// Position of the tuning point.
        point: usize,
        /// The sentence why.
        reason: String,
    },
}

/// A passage of a measurement point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventNews {
    /// Position of the event in the description.
    pub event: usize,
    /// Who passed it.
    pub rank: Rank,
    /// Which of its threads.
    pub thread: u32,
    /// When, in seconds since the start of the run, on one clock for all ranks.
    pub time_s: f64,
    /// Attributes in the order of the description.
    pub values: Vec<Value>,
}

/// Passages of a measurement point on the ranks of a node, added up there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryNews {
    /// Position of the event in the description.
    pub event: usize,
    /// First and last passage, in seconds since the start of the run.
    pub span_s: (f64, f64),
    /// Ranks that passed it.
    pub n_ranks: u32,
    /// Each attribute, in the order of the description.
    pub attributes: Vec<Moments>,
    /// Time from the entry to the exit of the same function on the same thread, in seconds, when the event
    /// is an exit.
    pub duration_s: Moments,
}

/// An iteration of the program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationNews {
    /// Number, from 0, counted by us.
    pub number: u64,
    /// When it ended, in seconds since the start of the run.
    pub end_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// Its work as the description defines it; 1 where it does not.
    pub work: f64,
}

/// Efficiencies between two moments (`models::pop`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// From when to when, in seconds since the start of the run.
    pub span_s: (f64, f64),
    /// Average over longest useful time.
    pub load_balance: f64,
    /// Longest useful time over elapsed time.
    pub communication_efficiency: f64,
    /// Average useful time over elapsed time.
    pub parallel_efficiency: f64,
    /// Useful seconds by rank.
    pub useful_s: Vec<f64>,
    /// The region in which the rank with the longest useful time is longest above the others:
    /// rank, name of the region, seconds above the mean of the others.
    pub culprit: Option<(Rank, String, f64)>,
}

/// A change that was made on all ranks of its actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Position of the tuning point.
    pub point: usize,
    /// Value before.
    pub old: Value,
    /// Value now.
    pub new: Value,
    /// When, in seconds since the start of the run.
    pub time_s: f64,
    /// Passages of its sync point so far; 0 when the program has set it itself.
    pub hit: u32,
    /// Whether this tunlet asked for it.
    pub is_own: bool,
}

/// A change that a tunlet asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Position of the tuning point.
    pub point: usize,
    /// Its new value.
    pub value: Value,
    /// Why, in words and numbers that a person can check: "sigma/mu rose to 0.9".
    pub reason: String,
}

/// Why a tunlet cannot begin.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TunletError {
    /// The description lacks an event.
    #[error(
        "tunlet `{tunlet}` needs the event `{event}`; describe it in an `[[event]]` of the application description"
    )]
    NoEvent {
        /// The tunlet.
        tunlet: String,
        /// The event.
        event: String,
    },
    /// An event lacks an attribute.
    #[error(
        "tunlet `{tunlet}` needs the attribute `{attribute}` of the event `{event}`; add it to its `attributes`"
    )]
    NoAttribute {
        /// The tunlet.
        tunlet: String,
        /// The event.
        event: String,
        /// The attribute.
        attribute: String,
    },
    /// The description lacks a tuning point.
    #[error(
        "tunlet `{tunlet}` needs the tuning point `{point}`; describe it in a `[[tuning_point]]` of the application description"
    )]
    NoPoint {
        /// The tunlet.
        tunlet: String,
        /// The tuning point.
        point: String,
    },
    /// An option of it is wrong.
    #[error("option `{option}` of tunlet `{tunlet}` is `{value}`; it must be {expected}")]
    Option {
        /// The tunlet.
        tunlet: String,
        /// The option.
        option: String,
        /// What was given.
        value: String,
        /// What is expected.
        expected: String,
    },
    /// It has no option of this name.
    #[error("tunlet `{tunlet}` has no option `{option}`; {remedy}")]
    NoOption {
        /// The tunlet.
        tunlet: String,
        /// The option.
        option: String,
        /// What to write instead.
        remedy: String,
    },
    /// Something else that it says itself.
    #[error("tunlet `{tunlet}` cannot begin: {reason}")]
    Unable {
        /// The tunlet.
        tunlet: String,
        /// Its sentence.
        reason: String,
    },
}

/// One performance problem: what to measure, a model of it, what to change.
pub trait Tunlet: Send {
    /// What it is; the same at every call.
    fn spec(&self) -> TunletSpec;

    /// The run begins: the tunlet looks up what it needs and says what it wants to hear.
    ///
    /// # Errors
    /// When the description lacks something.
    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError>;

    /// Something happened; the changes it asks for are put into `decisions`.
    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>);

    /// Asked after all news and now and then: decisions that took their time (a tunlet in another process
    /// answers later) are put into `decisions`.
    ///
    /// # Errors
    /// The sentence why the tunlet cannot go on; the run goes on without it.
    fn look(&mut self, _decisions: &mut Vec<Decision>) -> Result<(), String> {
        Ok(())
    }

    /// What it said to people since the last call, line by line.
    fn lines(&mut self) -> Vec<String> {
        Vec::new()
    }
}
