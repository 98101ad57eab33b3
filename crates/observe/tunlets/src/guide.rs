//! User documentation of a built-in tunlet, for describing a program for it.
//!
//! # Not here
//! Names and options (`TunletSpec`), which the tool itself uses.

use serde::Serialize;

/// Action and needs of a tunlet.
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

impl Guide {
    /// Returns the names of the required events.
    pub(crate) fn needs_events(&self) -> Vec<String> {
        let needed = self.events.iter().filter(|event| event.is_needed);
        needed.map(|event| event.name.to_owned()).collect()
    }

    /// Returns the names of its tuning points.
    pub(crate) fn needs_points(&self) -> Vec<String> {
        self.points.iter().map(|point| point.name.to_owned()).collect()
    }
}
