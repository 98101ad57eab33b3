//! Events of functions and functions chosen with `--probe`, as the launcher knows them.

use crate::EventShape;
use events::{ProbePoint, SourceLocation, ValueType};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// An event of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFacts {
    /// Name of the event.
    pub name: String,
    /// Name of the function in its source.
    pub function: String,
    /// Entry or exit of the function.
    pub place: ProbePoint,
    /// Names and types of its attributes, in order.
    pub attributes: Vec<(String, ValueType)>,
}

/// Function chosen with `--probe`; its calls are counted and timed in each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedFunction {
    /// Name in its source, with the types of its parameters, and location.
    pub source: SourceLocation,
    /// Event of its entry; `None` where the description has one.
    pub entry: Option<u32>,
    /// Event of its exit; `None` where the description has one.
    pub exit: Option<u32>,
}

impl EventFacts {
    /// Returns the types of its attributes.
    pub fn kinds(&self) -> Vec<ValueType> {
        self.attributes.iter().map(|(_, kind)| *kind).collect()
    }
}

impl ProbedFunction {
    /// Returns its events.
    pub fn events(&self) -> impl Iterator<Item = u32> {
        self.entry.into_iter().chain(self.exit)
    }
}

/// Returns the shapes needed to read the records of events.
pub fn shapes(events: &[EventFacts], probed: &[ProbedFunction]) -> Vec<EventShape> {
    // A function gets the number of its first event.
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let shapes = events.iter().zip(0..).map(|(facts, number)| EventShape {
        place: facts.place,
        function: *numbers.entry(&facts.function).or_insert(number),
        kinds: facts.kinds(),
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
