//! What people read about a built-in tunlet before they describe their program for it.
//!
//! # Not here
//! Names and options (`TunletSpec`): the tool goes by those.

use serde::Serialize;

/// What a tunlet does and needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Guide {
    /// What it does about its problem, as half a sentence.
    pub remedy: &'static str,
    /// What it needs of iterations.
    pub iteration: &'static str,
    /// Events that it looks for.
    pub events: &'static [EventNeed],
    /// Tuning points that it changes.
    pub points: &'static [PointNeed],
}

/// An event that a tunlet looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventNeed {
    /// Its name.
    pub name: &'static str,
    /// Which actor passes it, and where in the program that is.
    pub place: &'static str,
    /// Attributes that it has to have.
    pub attributes: &'static [&'static str],
    /// Attributes that are used where it has them.
    pub more_attributes: &'static [&'static str],
    /// Whether the tunlet cannot begin without it.
    pub is_needed: bool,
}

/// A tuning point that a tunlet changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PointNeed {
    /// Its name.
    pub name: &'static str,
    /// What its value means in the program.
    pub meaning: &'static str,
}

impl Guide {
    /// Names of the events without which it cannot begin.
    pub(crate) fn needs_events(&self) -> Vec<String> {
        let needed = self.events.iter().filter(|event| event.is_needed);
        needed.map(|event| event.name.to_owned()).collect()
    }

    /// Names of its tuning points.
    pub(crate) fn needs_points(&self) -> Vec<String> {
        self.points.iter().map(|point| point.name.to_owned()).collect()
    }
}
