//! Content of an application description.

use events::{Lever, ProbePoint, ValueType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The description of one program.
///
/// Events, tuning points and actors are referred to by their positions in these lists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// File name of the program.
    pub program: String,
    /// Libraries that the program loads itself while it runs: paths of their files.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Groups of ranks with the same role.
    pub actors: Vec<Actor>,
    /// Definition of an iteration, by which the effect of actions is measured.
    pub iteration: Option<IterationMark>,
    /// Call site that ends an iteration, instead of events: `solve.c:120` or `MPI_Allreduce in solve`.
    pub iteration_call: Option<String>,
    /// Measurement points.
    pub events: Vec<EventPoint>,
    /// Tuning points.
    pub tuning_points: Vec<TuningPoint>,
    /// Options of tunlets by tunlet name, as text to be parsed by the tunlet.
    pub tunlet_options: BTreeMap<String, BTreeMap<String, String>>,
}

/// Group of ranks with the same role, such as the master or the workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Name of the actor.
    pub name: String,
    /// Ranks of the actor.
    pub ranks: RankSet,
    /// Line in the description.
    pub line: usize,
}

/// A set of ranks: `0`, `1-`, `0-3,8`, `all`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSet {
    /// First and last rank of each span, inclusive; a span without last rank is open.
    pub spans: Vec<(u32, Option<u32>)>,
}

impl RankSet {
    /// Returns whether the set contains a rank.
    pub fn contains(&self, rank: u32) -> bool {
        self.spans
            .iter()
            .any(|(first, last)| *first <= rank && last.is_none_or(|last| rank <= last))
    }
}

/// Iteration of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationMark {
    /// Position in [`Application::events`] of the start event.
    pub start: usize,
    /// Position in [`Application::events`] of the end event.
    pub end: usize,
    /// Position of the start event's attribute with the amount of work: times are compared per unit of work.
    pub work: Option<usize>,
}

/// A measurement point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventPoint {
    /// Name of the event.
    pub name: String,
    /// Position in [`Application::actors`] of the actor on whose ranks it is measured.
    pub actor: usize,
    /// Name of the function in its source.
    pub function: String,
    /// Entry or exit of the function.
    pub place: ProbePoint,
    /// Attributes read at the event.
    pub attributes: Vec<EventAttribute>,
    /// Line in the description.
    pub line: usize,
}

/// A value read at an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventAttribute {
    /// Name within the event.
    pub name: String,
    /// Source of the value.
    pub source: AttributeSource,
    /// Declared type, if any; otherwise debug information must provide it.
    pub kind: Option<ValueType>,
    /// Line in the description.
    pub line: usize,
}

/// Source of an attribute's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttributeSource {
    /// A global variable, or a member of one: `grid.rows`, `module::name` for Fortran.
    Variable(String),
    /// Argument at this position, counted from 1.
    Argument(usize),
    /// Return value of the function.
    Returned,
}

/// What earlier runs told about a lever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Past {
    /// Nothing.
    #[default]
    Unknown,
    /// They were faster with it, so that it may be set before its effect can be measured.
    Helped,
    /// They were not, so that it is not tried soon.
    Failed,
}

/// Value or behavior of the program that can be changed while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningPoint {
    /// Name of the tuning point.
    pub name: String,
    /// Position in [`Application::actors`] of the actor on whose ranks it is changed, on all or on none.
    pub actor: usize,
    /// Kind of change.
    pub change: ChangeKind,
    /// Type of the value; `None` where the description leaves it to debug information.
    pub kind: Option<ValueType>,
    /// Allowed values; `None` for a library or a replacement.
    pub range: Option<Range>,
    /// Name in its source of the function at which it is changed.
    pub sync_function: String,
    /// Entry or exit of that function.
    pub sync_place: ProbePoint,
    /// True if the change is repeated at every later passage, for values that the program itself keeps setting.
    pub is_repeated: bool,
    /// True if it is changed there even though inlined copies of the function do not pass the sync point.
    pub is_forced: bool,
    /// Relative slowdown of iterations above which a change is undone (0.05 is 5 %).
    pub limit: f64,
    /// What earlier runs told about it.
    #[serde(default)]
    pub past: Past,
    /// Line in the description.
    pub line: usize,
}

/// Kind of change to a tuning point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeKind {
    /// Sets a global variable, or a member of one.
    Variable(String),
    /// Calls a function with the value as its only argument.
    Call(String),
    /// Loads a library if the value is 1.
    Load(String),
    /// Redirects calls of `function` to `by` if the value is 1, and back if it is 0.
    Replace {
        /// Name of the function.
        function: String,
        /// Function with the same signature; `LIBRARY.so:NAME` if it is in a library.
        by: String,
    },
    /// Sets a lever, which needs nothing of the program.
    Lever(Lever),
}

impl ChangeKind {
    /// Splits `LIBRARY.so:NAME` into library and name; returns `None` for a function of the program, which may
    /// be written `module::name`.
    pub fn library_of(by: &str) -> Option<(&str, &str)> {
        let (library, name) = by.split_once(':')?;
        (!name.starts_with(':')).then_some((library, name))
    }

    /// Returns why the change could not be undone, given whether the value before it is known; `None` if it could.
    pub fn one_way(&self, is_value_known: bool) -> Option<&'static str> {
        match self {
            Self::Load(_) => Some("a library that was loaded stays"),
            Self::Call(_) if !is_value_known => {
                Some("what the program called it with before is not known")
            }
            _ => None,
        }
    }

    /// Returns the lever that it sets, if it is one.
    pub fn lever(&self) -> Option<Lever> {
        match self {
            Self::Lever(lever) => Some(*lever),
            _ => None,
        }
    }
}

/// Range of allowed values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
    /// Distance of allowed values from `low` on; `None` if any value is allowed (any integer, for integer types).
    pub step: Option<f64>,
}
