//! What an application description says, after it was read.

use events::{Place, ValueType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The description of one program.
///
/// Events, tuning points and actors are known by their positions in these lists from here on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// File name of the program.
    pub program: String,
    /// Kinds of ranks.
    pub actors: Vec<Actor>,
    /// What an iteration is; the effect of actions is measured on it.
    pub iteration: Option<Iteration>,
    /// Measurement points.
    pub events: Vec<EventPoint>,
    /// What may be changed.
    pub tuning_points: Vec<TuningPoint>,
    /// Options of tunlets by the tunlet's name, as text; a tunlet reads its own.
    pub tunlet_options: BTreeMap<String, BTreeMap<String, String>>,
}

/// A kind of ranks: a master, the workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// Which ranks it is.
    pub ranks: Ranks,
    /// Line of the description.
    pub line: usize,
}

/// A set of ranks: `0`, `1-`, `0-3,8`, `all`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranks {
    /// First and last rank, the last one included; none without end.
    pub spans: Vec<(u32, Option<u32>)>,
}

impl Ranks {
    /// Whether a rank is one of them.
    pub fn contains(&self, rank: u32) -> bool {
        self.spans
            .iter()
            .any(|(first, last)| *first <= rank && last.is_none_or(|last| rank <= last))
    }
}

/// One round of an iterative program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// Position in [`Application::events`] of the event at its start.
    pub start: usize,
    /// Of the event at its end.
    pub end: usize,
    /// Attribute of the start event that says how much work it is: times are compared per unit of it.
    pub work: Option<usize>,
}

/// A measurement point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventPoint {
    /// Its name.
    pub name: String,
    /// Position in [`Application::actors`]: on whose ranks it is measured.
    pub actor: usize,
    /// Function, as its source calls it.
    pub function: String,
    /// Entry or exit.
    pub place: Place,
    /// What is read there.
    pub attributes: Vec<EventAttribute>,
    /// Line of the description.
    pub line: usize,
}

/// A value read at an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventAttribute {
    /// Its name in the event.
    pub name: String,
    /// Where it comes from.
    pub source: AttributeSource,
    /// Its type where the description gives it; else debug information has to.
    pub kind: Option<ValueType>,
    /// Line of the description.
    pub line: usize,
}

/// Where the value of an attribute comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttributeSource {
    /// A global variable, or a member of one: `grid.rows`, `module::name` for Fortran.
    Variable(String),
    /// The argument in this place, counted from 1.
    Argument(usize),
    /// What the function returns.
    Returned,
}

/// Something that may be changed while the program runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningPoint {
    /// Its name.
    pub name: String,
    /// Position in [`Application::actors`]: on whose ranks it is changed, on all or on none.
    pub actor: usize,
    /// What is changed.
    pub change: Change,
    /// Type of its value; none where the description leaves it to debug information.
    pub kind: Option<ValueType>,
    /// Values allowed; without values for a library or a replacement.
    pub range: Option<Range>,
    /// Function at which it is changed, as its source calls it.
    pub sync_function: String,
    /// Entry or exit of it.
    pub sync_place: Place,
    /// Done at every passage from then on, not once: for what the program itself sets again and again.
    pub is_repeated: bool,
    /// Changed there although copies of the function were inlined, which do not stop there.
    pub is_forced: bool,
    /// A change that makes iterations slower by more than this share is undone (0.05 is 5 %).
    pub limit: f64,
    /// Line of the description.
    pub line: usize,
}

/// What changing a tuning point does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Sets a global variable, or a member of one.
    Variable(String),
    /// Calls a function with the value as its only argument.
    Call(String),
    /// Loads a library when its value is 1.
    Load(String),
    /// Calls of `function` go to `by` when its value is 1, and to itself when it is 0.
    Replace {
        /// The function.
        function: String,
        /// Another of the same signature; `LIBRARY.so:NAME` where a library brings it.
        by: String,
    },
}

impl Change {
    /// Library and name of a function `LIBRARY.so:NAME`; none for one of the program, which may be called
    /// `module::name`.
    pub fn library_of(by: &str) -> Option<(&str, &str)> {
        let (library, name) = by.split_once(':')?;
        (!name.starts_with(':')).then_some((library, name))
    }
}

/// Values allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// Only `low`, `low + step`, ...; none for any value (any integer, for integer types).
    pub step: Option<f64>,
}
