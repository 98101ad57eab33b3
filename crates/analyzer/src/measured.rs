//! What a run left behind, before it is added up.

use events::{Place, ValueType};
use run_record::summary::{Outcome, Place as Source};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use wire::{EventShape, ProcessReport};

/// Everything that collectors handed in: what `assemble` makes a run record of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The last report of every process, `modules` filled in; in no order.
    pub processes: Vec<ProcessReport>,
    /// Nodes that had processes.
    pub nodes: Vec<NodeClock>,
    /// Files of call records.
    pub spools: Vec<Spool>,
    /// Records that left a ring and got lost on the way (no room on the disk).
    pub n_records_lost: u64,
    /// Sentences about what could not be observed, and what to do.
    pub warnings: Vec<String>,
}

/// A file of call records of one node, made by `run_record::SpoolWriter`.
///
/// Each of its frames is `wire::decode::<wire::Records>`. A node may have several files, and after a
/// lost connection a record may be in two of them or twice in one (same process, thread and number).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spool {
    /// [`ProcessReport::node`] of its processes.
    pub node: String,
    /// Where it is.
    pub path: PathBuf,
}

/// A node's clock against the analyzer's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeClock {
    /// [`ProcessReport::node`].
    pub node: String,
    /// To add to a time of this node to get the analyzer's time.
    pub offset_ns: i64,
    /// The offset is right within half of this.
    pub round_trip_ns: u64,
}

/// What the launcher knows of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// Version of Sintonia that ran it.
    pub sintonia_version: String,
    /// Number of the run, 16 hexadecimal digits.
    pub run: String,
    /// The command after `--`, as it was typed.
    pub command: Vec<String>,
    /// When the command was started, in seconds since 1970.
    pub started_s: f64,
    /// From its start to its end; 0 while it is unknown.
    pub wall_s: f64,
    /// How the command ended.
    pub outcome: Outcome,
    /// Events were asked for (`--trace`).
    pub traced: bool,
    /// Folder of shared memory on the launching node, for what is still there after a crash.
    pub shm_dir: PathBuf,
    /// What the events of functions are, by their numbers in records.
    pub functions: Vec<EventFacts>,
    /// Functions that `--probe` chose.
    pub probed: Vec<ProbedFunction>,
}

/// An event of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFacts {
    /// Its name.
    pub name: String,
    /// The function, as its source calls it.
    pub function: String,
    /// Entry or exit of it.
    pub place: Place,
    /// Names and types of its attributes, in order.
    pub attributes: Vec<(String, ValueType)>,
}

/// A function that `--probe` chose: its calls are counted and timed in each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedFunction {
    /// As its source calls it, with the types of its parameters, and where that is.
    pub source: Source,
    /// Event of its entry; none where a description has one.
    pub entry: Option<u32>,
    /// The same of its exit.
    pub exit: Option<u32>,
}

impl ProbedFunction {
    /// Its events.
    pub fn events(&self) -> impl Iterator<Item = u32> {
        self.entry.into_iter().chain(self.exit)
    }
}

/// How the records of events are read.
pub(crate) fn shapes(events: &[EventFacts], probed: &[ProbedFunction]) -> Vec<EventShape> {
    // A function has the number of one of its events.
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let shapes = events.iter().zip(0..).map(|(facts, number)| EventShape {
        place: facts.place,
        function: *numbers.entry(&facts.function).or_insert(number),
        kinds: facts.attributes.iter().map(|(_, kind)| *kind).collect(),
        by_process: false,
    });
    let mut shapes: Vec<EventShape> = shapes.collect();
    for function in probed {
        for event in function.events() {
            let Some(shape) = shapes.get_mut(event as usize) else { continue };
            shape.by_process = true;
            // Another source file may have a function of the same name.
            shape.function =
                function.entry.filter(|_| function.exit.is_some()).unwrap_or(shape.function);
        }
    }
    shapes
}
