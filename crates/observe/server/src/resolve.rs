//! Resolution of a description's names to addresses, as a [`TuningPlan`].
//!
//! The launcher looks up every name once. A function with several events and sync points is one site; sites are
//! numbered in the order in which they are named, so that they have the same numbers everywhere.
//!
//! # Not here
//! Checking of names (`app_description::check`), and a rank's part of a plan ([`TuningPlan::install`]).

mod patterns;
mod sites;

use app_description::{
    Application, ChangeKind, FunctionFacts, Passed, ProgramNames, RankSet, ReachedFacts,
    TuningPoint, VariableFacts,
};
use sites::{Sites, look_up};
use std::path::PathBuf;
use symbols::{
    Access, AccessKind, Function, LookupError, Parameter, Passing, Program, Reached, ReachedBase,
};
use thiserror::Error;
use tuner::plan::{PlannedChange, PlannedPoint, TuningPlan};
use wire::control::Replacement;
use wire::facts::EventFacts;

/// Reason why a description cannot be resolved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// A name in this part of the description cannot be found.
    #[error("{0}: {1}")]
    Name(String, #[source] LookupError),
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
    /// This event, at this function, is at the same place as another event.
    #[error(
        "event `{0}` is at the same place as another event: `{1}` is the same function; keep one of them"
    )]
    Taken(String, String),
    /// The type of this tuning point is unknown.
    #[error("the type of tuning point `{0}` is unknown; add `type` to it, or compile with `-g`")]
    UnknownType(String),
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
) -> Result<(Application, TuningPlan), ResolveError> {
    let application = app_description::complete(application, &Names::of(program));
    let mut sites = Sites::of(program);
    let mut events = Vec::new();
    for event in &application.events {
        let attributes = sites.add_event(events.len(), event)?;
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
        points.push(planned(point, ranks, &mut sites)?);
    }
    let probed = patterns::add(&mut events, patterns, &mut sites)?;
    let warnings = patterns::warnings(patterns, program)?;
    let names = names_of(&application, &points);
    let (modules, sites) = (sites.modules, sites.list);
    let plan = TuningPlan { modules, sites, events, probed, points, names, warnings };
    Ok((application, plan))
}

/// Returns the functions that tuning points need, by site.
fn names_of(application: &Application, points: &[PlannedPoint]) -> Vec<(u32, String)> {
    let described = application.tuning_points.iter().zip(points);
    let names = described.flat_map(|(described, planned)| {
        let replaced = match &described.change {
            ChangeKind::Replace { function, .. } => Some(function),
            _ => None,
        };
        let functions = std::iter::once(&described.sync_function).chain(replaced);
        planned.sites().zip(functions.cloned())
    });
    names.collect()
}

/// Returns a tuning point of `ranks` with its names resolved.
fn planned(
    point: &TuningPoint,
    ranks: RankSet,
    sites: &mut Sites<'_>,
) -> Result<PlannedPoint, ResolveError> {
    let program = sites.program;
    let part = || format!("tuning point `{}`", point.name);
    let site = sites.add(look_up(part, program.function(&point.sync_function))?);
    sites.site(site).is_sync = true;
    let change = match &point.change {
        ChangeKind::Variable(name) => {
            let function = look_up(part, program.function(&point.sync_function))?;
            match look_up(part, sites.way(name, function))? {
                Some(way) => PlannedChange::SetReached { way },
                None => {
                    let variable = look_up(part, program.variable(name))?;
                    PlannedChange::Set { at: sites.variable(&variable) }
                }
            }
        }
        ChangeKind::Call(name) => {
            let function = look_up(part, program.function(name))?;
            let returns = function.returns.as_ref().and_then(|returned| returned.kind);
            PlannedChange::Call { function: sites.function(function), returns }
        }
        ChangeKind::Load(path) => PlannedChange::Load { path: path.clone() },
        ChangeKind::Lever(lever) => PlannedChange::Lever(*lever),
        ChangeKind::Replace { function, by } => {
            let replaced = sites.add(look_up(part, program.function(function))?);
            let by = if ChangeKind::library_of(by).is_some() {
                Replacement::Exported(by.clone())
            } else {
                Replacement::Function(sites.function(look_up(part, program.function(by))?))
            };
            PlannedChange::Replace { site: replaced, by }
        }
    };
    let unknown = || ResolveError::UnknownType(point.name.clone());
    let kind = point.kind.ok_or_else(unknown)?;
    Ok(PlannedPoint { sync: (site, point.sync_place), kind, change, ranks })
}

/// Facts about a program's names.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    program: &'a Program,
}

impl<'a> Names<'a> {
    /// Creates the view of `program`.
    pub fn of(program: &'a Program) -> Self {
        Self { program }
    }
}

impl ProgramNames for Names<'_> {
    fn function(&self, name: &str) -> Result<FunctionFacts, String> {
        let function = self.program.function(name).map_err(|error| with_remedy(&error))?;
        let inlined_in = function.inlined.iter().map(|inlined| inlined.function.clone());
        let passed = |parameter| passed(function, parameter);
        Ok(FunctionFacts {
            not_probeable: function.probeable().err().map(|reason| reason.to_string()),
            inlined_in: inlined_in.collect(),
            arguments: function.parameters.as_ref().map(|all| all.iter().map(passed).collect()),
            returns: function.returns.as_ref().map(|returned| Passed {
                type_name: returned.type_name.clone(),
                kind: returned.kind,
            }),
        })
    }

    fn variable(&self, name: &str) -> Result<VariableFacts, String> {
        let variable = self.program.readable_variable(name).map_err(|error| error.to_string())?;
        let symbols::Variable { type_name, kind, n_bytes, .. } = variable;
        let not_settable = self.program.variable(name).err().map(|error| error.to_string());
        Ok(VariableFacts { type_name, kind, n_bytes, not_settable })
    }

    fn reached(&self, name: &str, function: &str) -> Result<Option<ReachedFacts>, String> {
        let Ok(function) = self.program.function(function) else { return Ok(None) };
        let found = self.program.reached(function, name).map_err(|error| error.to_string())?;
        Ok(found.map(|Reached { base, kind, type_name, .. }| {
            let is_of_argument = matches!(base, ReachedBase::Argument(_));
            ReachedFacts { type_name, kind, is_of_argument }
        }))
    }

    fn unseen(&self, variable: &str, function: &str) -> Option<String> {
        let (name, variable) = (variable, self.program.variable(variable).ok()?);
        let function = self.program.function(function).ok()?;
        if let Some(cached) = self.program.cached_across(&variable, function).first() {
            return Some(cached.to_string());
        }
        // A library's variable may be read from anywhere.
        let is_own = *variable.module == *self.program.path();
        // Not all functions of a stripped program are known.
        let is_stripped = self.program.is_stripped() && !self.program.has_debug_info();
        let may_read = |access: &Access| access.kind != AccessKind::Write;
        let is_read =
            !is_own || is_stripped || self.program.accesses(&variable).iter().any(may_read);
        let remedy = "name the variable that its loops read";
        (!is_read).then(|| {
            format!("no instruction reads `{name}`, so changing it has no effect; {remedy}")
        })
    }
}

/// Adds to a function that the program lacks where else it may be.
fn with_remedy(error: &LookupError) -> String {
    let remedy = match error {
        LookupError::Unknown { .. } => {
            "; if it is in a library that the program loads while it runs, name that in `libraries`"
        }
        _ => "",
    };
    format!("{error}{remedy}")
}

/// Describes a parameter; only one that is a single number at a fixed place can be measured.
fn passed(function: &Function, parameter: &Parameter) -> Passed {
    let type_name = &parameter.type_name;
    let (note, kind) = if function.is_copy {
        (" in a place that the compiler chose", None)
    } else if parameter.passing == Passing::Parts {
        ("", None)
    } else {
        ("", parameter.kind)
    };
    Passed { type_name: format!("{type_name}{note}"), kind }
}

#[cfg(test)]
mod tests;
