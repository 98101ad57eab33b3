//! The tunlet interface: news that a tunlet hears, and decisions that it makes.
//!
//! Events and tuning points are positions in the lists of the [`Application`]; a tunlet looks them up by
//! name once, in [`Tunlet::begin`].

use app_description::{Actor, Application};
use events::{Moments, Rank, Value};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Description of a tunlet for listings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunletSpec {
    /// Name on the command line.
    pub name: String,
    /// Performance problem it addresses, as half a sentence.
    pub problem: String,
    /// Names of the events that the description must have.
    pub needs_events: Vec<String>,
    /// Names of the tuning points it changes.
    pub needs_points: Vec<String>,
    /// Names and meanings of its options (`[tunlet.NAME]` in the description).
    pub options: Vec<(String, String)>,
}

/// Ranks and initial values of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// Number of ranks of the program.
    pub n_ranks: u32,
    /// Ranks of each actor, in the order of [`Application::actors`].
    pub actors: Vec<Vec<Rank>>,
    /// Known value of each tuning point when the tunlet begins, which is in `MPI_Init`: values that the program
    /// sets later arrive as [`News::Applied`] with `is_own` false.
    pub values: Vec<Option<Value>>,
}

impl World {
    /// Returns the world of a program with `n_ranks` ranks, given the known values of its tuning points.
    pub(crate) fn of(application: &Application, n_ranks: u32, values: Vec<Option<Value>>) -> Self {
        let ranks = |actor: &Actor| {
            (0..n_ranks).filter(|rank| actor.ranks.contains(*rank)).map(Rank).collect()
        };
        Self { n_ranks, actors: application.actors.iter().map(ranks).collect(), values }
    }
}

/// Level of detail in which a tunlet wants an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Not at all.
    #[default]
    None,
    /// Every passage, as [`News::Event`].
    Every,
    /// Sums over passages, computed on the nodes, as [`News::Summary`]: needed with thousands of ranks.
    Summary,
}

/// News that a tunlet requests, and the tuning points it may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Level of detail for each event, in the order of the description.
    pub events: Vec<Detail>,
    /// True if [`News::Performance`] is wanted.
    pub performance: bool,
    /// Positions of the tuning points that the tunlet may change.
    pub points: Vec<usize>,
}

/// News for a tunlet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum News {
    /// A rank passed a measurement point.
    Event(EventNews),
    /// Sums over many passages of a measurement point.
    Summary(SummaryNews),
    /// An iteration ended on the measuring rank.
    Iteration(IterationNews),
    /// Efficiencies of the last few seconds.
    Performance(Performance),
    /// A change was carried out.
    Applied(Applied),
    /// A decision of this tunlet was not carried out, or was undone.
    Declined {
        /// Position of the tuning point.
        point: usize,
        /// Reason, as a sentence.
        reason: String,
    },
}

/// A passage of a measurement point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventNews {
    /// Position of the event in the description.
    pub event: usize,
    /// Rank that passed the measurement point.
    pub rank: Rank,
    /// Thread of the rank.
    pub thread: u32,
    /// Time in seconds since the start of the run, on a common clock of all ranks.
    pub time_s: f64,
    /// Attributes in the order of the description.
    pub values: Vec<Value>,
}

/// Passages of a measurement point on the ranks of a node, summed there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryNews {
    /// Position of the event in the description.
    pub event: usize,
    /// Times of the first and last passage, in seconds since the start of the run.
    pub span_s: (f64, f64),
    /// Number of ranks that passed it.
    pub n_ranks: u32,
    /// Moments of each attribute, in the order of the description.
    pub attributes: Vec<Moments>,
    /// Moments of the time from the entry to the exit of the same function on the same thread, in seconds,
    /// if the event is an exit.
    pub duration_s: Moments,
}

/// An iteration of the program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationNews {
    /// Number, from 0, as counted by the tool.
    pub number: u64,
    /// Time of its end, in seconds since the start of the run.
    pub end_s: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Work as defined in the description; 1 if not defined.
    pub work: f64,
}

/// Efficiencies over a time span (`models::pop`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Start and end of the span, in seconds since the start of the run.
    pub span_s: (f64, f64),
    /// Average divided by longest useful time.
    pub load_balance: f64,
    /// Longest useful time divided by elapsed time.
    pub communication_efficiency: f64,
    /// Average useful time divided by elapsed time.
    pub parallel_efficiency: f64,
    /// Useful seconds by rank.
    pub useful_s: Vec<f64>,
    /// Region in which the rank with the longest useful time exceeds the others most: rank, name of the region,
    /// seconds above the mean of the others.
    pub culprit: Option<(Rank, String, f64)>,
    /// Use of processors and memory by the ranks, in their order; without the ranks of which nothing is known.
    pub usage: Vec<RankUsage>,
}

/// Use of processors and memory by a rank in the span of a [`Performance`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankUsage {
    /// The rank.
    pub rank: Rank,
    /// Number of its node, from 0.
    pub node: usize,
    /// Cores that it may use, by its affinity and by quotas; 0 if unknown.
    pub cores_allowed: f64,
    /// Cores that it may use by its affinity alone.
    pub cores_bound: f64,
    /// Cores of its node that are online.
    pub cores_online: u32,
    /// Ranks that share one of its cores on average, itself included; 0 if unknown.
    pub ranks_per_core: f64,
    /// Threads.
    pub n_threads: u64,
    /// Cores that all its threads kept busy on average.
    pub cpu: f64,
    /// Threads that were ready to run and had no core, on average.
    pub runqueue: f64,
    /// Share of the time in MPI.
    pub mpi: f64,
    /// Page faults per second, in memory that had been given back before.
    pub faults_per_s: f64,
    /// Largest resident memory so far, in bytes.
    pub memory_max_bytes: u64,
    /// Cores of the node that other programs kept busy on average, among those that ranks may use.
    pub foreign: f64,
}

impl RankUsage {
    /// Ranks that share one of its cores on average, whatever quotas allow.
    #[must_use]
    pub fn ranks_per_bound_core(&self) -> f64 {
        if 0.0 < self.cores_bound {
            self.ranks_per_core * self.cores_allowed / self.cores_bound
        } else {
            self.ranks_per_core
        }
    }

    /// Returns whether a quota allows fewer cores than its affinity.
    #[must_use]
    pub fn has_quota(&self) -> bool {
        self.cores_allowed < self.cores_bound
    }
}

/// Change that was carried out on all ranks of its actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Position of the tuning point.
    pub point: usize,
    /// Value before.
    pub old: Value,
    /// Value now.
    pub new: Value,
    /// Time in seconds since the start of the run.
    pub time_s: f64,
    /// Number of sync-point passages so far; 0 if the program has set the value itself.
    pub hit: u32,
    /// True if this tunlet asked for it.
    pub is_own: bool,
}

/// Change that a tunlet requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Position of the tuning point.
    pub point: usize,
    /// New value.
    pub value: Value,
    /// Reason, in words and numbers that the user can check: "sigma/mu rose to 0.9".
    pub reason: String,
}

/// Reason why a tunlet cannot begin.
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
    /// An option of the tunlet is wrong.
    #[error("option `{option}` of tunlet `{tunlet}` is `{value}`; it must be {expected}")]
    Option {
        /// The tunlet.
        tunlet: String,
        /// The option.
        option: String,
        /// Value that was given.
        value: String,
        /// Expected values.
        expected: String,
    },
    /// The tunlet has no option of this name.
    #[error("tunlet `{tunlet}` has no option `{option}`; {remedy}")]
    NoOption {
        /// The tunlet.
        tunlet: String,
        /// The option.
        option: String,
        /// Suggestion of what to write instead.
        remedy: String,
    },
    /// Any other reason, in the tunlet's words.
    #[error("tunlet `{tunlet}` cannot begin: {reason}")]
    Unable {
        /// The tunlet.
        tunlet: String,
        /// Reason, as a sentence.
        reason: String,
    },
}

/// A performance problem: what to measure, a model of it, and what to change.
pub trait Tunlet: Send {
    /// Returns the description of the tunlet; the same at every call.
    fn spec(&self) -> TunletSpec;

    /// Begins a run: looks up what the tunlet needs and returns what it requests.
    ///
    /// # Errors
    /// The description lacks something.
    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError>;

    /// Processes news; requested changes are pushed to `decisions`.
    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>);

    /// Called after all news and periodically: late decisions (a tunlet in another process answers later)
    /// are pushed to `decisions`.
    ///
    /// # Errors
    /// Reason, as a sentence, why the tunlet cannot continue; the run continues without it.
    fn look(&mut self, _decisions: &mut Vec<Decision>) -> Result<(), String> {
        Ok(())
    }

    /// Returns the lines written for the user since the last call.
    fn lines(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Action and needs of a built-in tunlet: user documentation for describing a program for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Guide {
    /// Remedy for its problem, as half a sentence.
    pub remedy: &'static str,
    /// Its needs regarding iterations.
    pub iteration: &'static str,
    /// Events it looks for.
    pub events: &'static [EventNeed],
    /// Tuning points it changes.
    pub points: &'static [PointNeed],
}

/// An event that a tunlet looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventNeed {
    /// Name of the event.
    pub name: &'static str,
    /// Actor that passes the event, and its place in the program.
    pub place: &'static str,
    /// Required attributes.
    pub attributes: &'static [&'static str],
    /// Optional attributes, used if present.
    pub more_attributes: &'static [&'static str],
    /// True if the tunlet cannot begin without the event.
    pub is_needed: bool,
}

/// A tuning point that a tunlet changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PointNeed {
    /// Name of the tuning point.
    pub name: &'static str,
    /// Meaning of its value in the program.
    pub meaning: &'static str,
}

impl EventNeed {
    /// Creates the need of an event without which the tunlet cannot begin, and of its attributes.
    pub(crate) const fn required(
        name: &'static str,
        place: &'static str,
        attributes: &'static [&'static str],
    ) -> Self {
        Self { name, place, attributes, more_attributes: &[], is_needed: true }
    }
}

impl Guide {
    /// Returns the specification of the tunlet `name`, given its options with their meanings.
    pub(crate) fn spec(&self, name: &str, problem: &str, options: &[(&str, &str)]) -> TunletSpec {
        let needed = self.events.iter().filter(|event| event.is_needed);
        let option = |(name, meaning): &(&str, &str)| ((*name).to_owned(), (*meaning).to_owned());
        TunletSpec {
            name: name.to_owned(),
            problem: problem.to_owned(),
            needs_events: needed.map(|event| event.name.to_owned()).collect(),
            needs_points: self.points.iter().map(|point| point.name.to_owned()).collect(),
            options: options.iter().map(option).collect(),
        }
    }
}
