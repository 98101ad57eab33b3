//! Resolution of a description's names to addresses, as a [`Plan`].
//!
//! The launcher looks up every name once. A function with several events and sync points is one site; sites are
//! numbered in the order in which they are named, so that they have the same numbers everywhere.
//!
//! # Not here
//! Checking of names (`app_description::check`, with [`Names`] for the program), and a rank's part of a
//! plan ([`Plan::install`]).

mod change;
mod names;
mod patterns;
mod sites;

pub use names::Names;

use app_description::{Application, Change};
use sites::{Modules, Sites};
use std::path::PathBuf;
use symbols::{LookupError, Program};
use thiserror::Error;
use tuner::plan::{Plan, PlannedPoint};
use wire::facts::EventFacts;

/// Reason why a description cannot be resolved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// A name cannot be found.
    #[error("{part}: {source}")]
    Name {
        /// Part of the description that names it.
        part: String,
        /// Cause.
        source: LookupError,
    },
    /// An attribute cannot be read.
    #[error("attribute `{attribute}` of event `{event}` cannot be read: {reason}")]
    Unreadable {
        /// The attribute.
        attribute: String,
        /// The event.
        event: String,
        /// Reason, with advice.
        reason: &'static str,
    },
    /// Two events are at the same place.
    #[error(
        "event `{event}` is at the same place as another event: `{function}` is the same function; keep one of them"
    )]
    Taken {
        /// Name of the second event.
        event: String,
        /// Name that it uses for the function.
        function: String,
    },
    /// The type of a value is unknown.
    #[error(
        "the type of tuning point `{point}` is unknown; add `type` to it, or compile with `-g`"
    )]
    UnknownType {
        /// The tuning point.
        point: String,
    },
    /// A pattern matches no function.
    #[error(
        "no function of `{program}` that can have probes matches `{pattern}`; `sintonia functions {program}` lists them"
    )]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The program.
        program: PathBuf,
    },
}

/// Resolves the names of a checked description, and adds functions to be counted and timed that match patterns
/// such as `solve`, `grid_*` or `*`: each gets an event at its entry and one at its exit, except where the
/// description already has one.
///
/// Returns the description with types from debug information, and the plan.
///
/// # Errors
/// A name cannot be found, or a pattern matches no function.
pub fn resolve(
    application: &Application,
    patterns: &[String],
    program: &Program,
) -> Result<(Application, Plan), ResolveError> {
    let application = app_description::complete(application, &Names::of(program));
    let mut modules = Modules::of(program);
    let mut sites = Sites::default();
    let mut events = Vec::new();
    for event in &application.events {
        let attributes = sites.add_event(events.len(), event, program, &mut modules)?;
        let names = event.attributes.iter().map(|attribute| attribute.name.clone());
        let kinds = attributes.iter().map(|attribute| attribute.kind);
        events.push(EventFacts {
            name: event.name.clone(),
            function: event.function.clone(),
            place: event.place,
            attributes: names.zip(kinds).collect(),
        });
    }
    let mut points = Vec::new();
    for point in &application.tuning_points {
        let ranks = application.actors[point.actor].ranks.clone();
        points.push(change::planned(point, ranks, program, &mut sites, &mut modules)?);
    }
    let probed = patterns::add(&mut events, patterns, program, &mut sites, &mut modules)?;
    let warnings = patterns::warnings(patterns, program)?;
    let names = names_of(&application, &points);
    let (modules, sites) = (modules.list, sites.list);
    let plan = Plan { modules, sites, events, probed, points, names, warnings };
    Ok((application, plan))
}

/// Returns the functions that tuning points need, by site.
fn names_of(application: &Application, points: &[PlannedPoint]) -> Vec<(u32, String)> {
    let described = application.tuning_points.iter().zip(points);
    let names = described.flat_map(|(described, planned)| {
        let replaced = match &described.change {
            Change::Replace { function, .. } => Some(function),
            _ => None,
        };
        let functions = std::iter::once(&described.sync_function).chain(replaced);
        planned.sites().zip(functions.cloned())
    });
    names.collect()
}

#[cfg(test)]
mod tests;
