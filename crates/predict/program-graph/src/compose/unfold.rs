//! Unfolds a graph into a program for a number of ranks and given values of its names.
//!
//! Each rank follows the role whose conditions it satisfies. Loops that contain MPI calls are repeated by their
//! count, or as often as measured. Branches take the arm that their condition selects; where that is unknown, arms
//! take turns so that each gets its share of the passages (expected values), or are drawn at random with a seed.
//!
//! Computing times, and message lengths that the source does not give, come from the caller: the amount of a region
//! on each rank of a role, over all its passages.
//!
//! # Invariants
//! - Everything left out of the program is noted, once.
//! - All ranks take the same arms of a branch, so that messages inside match.

mod operation;
mod walk;

use super::program::{CallSite, ProgramBuilder, ProgramError, RankPrograms};
use crate::shape::{Graph, GraphNode, Role};
use operation::Passage;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use walk::Walk;

/// Largest number of steps of all ranks together.
const N_STEPS_MAX: usize = 20_000_000;

/// Kind of amount requested for a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Computing time before its MPI calls, in s.
    Computation,
    /// Bytes of its MPI calls.
    Bytes,
}

/// Number of ranks, and values for unfolding a graph.
pub struct Setting<'a> {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Returns the value of a name of the program on a rank.
    pub value_of: &'a dyn Fn(&str, u32) -> Option<f64>,
    /// Returns the amount of a region on a rank of the role, over all passages.
    pub amount_of: &'a dyn Fn(&Role, &GraphNode, Amount) -> Option<f64>,
    /// Seed for drawing arms of branches; without one they take turns.
    pub seed: Option<u64>,
}

/// Reason why a graph cannot be unfolded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnfoldError {
    /// No role matches a rank.
    #[error(
        "rank {0} has no role: give values for more names in the program's conditions, or more source files"
    )]
    NoRole(u32),
    /// A number that determines the program is not known.
    #[error(
        "`{label}` needs the value of {}: give it (`--let 'NAME=EXPRESSION'`), or the sources that say it",
        quoted(names)
    )]
    Unknown {
        /// Label of the MPI operation or loop.
        label: String,
        /// Names whose values are not known, as the setting is asked for them.
        names: Vec<String>,
    },
    /// The program has too many steps.
    #[error("the program has more than {N_STEPS_MAX} steps: ask for fewer ranks or iterations")]
    TooLong,
    /// A step refers to a rank or a request that does not exist.
    #[error("`{label}` cannot be a step")]
    Step {
        /// Label of the MPI operation.
        label: String,
        /// Reason.
        source: ProgramError,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

/// A program, and its gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfolded {
    /// The program.
    pub program: RankPrograms,
    /// Parts that are left out or guessed, in words.
    pub notes: Vec<String>,
}

/// Unfolds a graph.
///
/// # Errors
/// When a rank has no role, or the value of a peer or a count is not known.
pub fn unfold(graph: &Graph, setting: &Setting<'_>) -> Result<Unfolded, UnfoldError> {
    let mut builder = ProgramBuilder::new(setting.n_ranks);
    let mut notes = BTreeSet::new();
    let mut n_steps = 0;
    for rank in 0..u32::try_from(setting.n_ranks).unwrap_or(u32::MAX) {
        let role = role_of(graph, setting, rank).ok_or(UnfoldError::NoRole(rank))?;
        let mut walk = Walk::new((graph, role), setting, rank, N_STEPS_MAX - n_steps);
        walk.sequence(&role.body)?;
        n_steps += walk.visited.len();
        let mut n_passages: BTreeMap<String, f64> = BTreeMap::new();
        for visited in &walk.visited {
            // Calls on the same line share the measurements of that line.
            *n_passages.entry(visited.label()).or_default() += 1.0;
        }
        for visited in &walk.visited {
            // The name that measurements use: `master->matmul.c:88 MPI_Send`.
            let region = builder.region(&format!("{}->{}", role.name, visited.label()));
            let place = CallSite { region, site: visited.node.location.line };
            let n_passages = n_passages[&visited.label()];
            let mut passage =
                Passage { builder: &mut builder, setting, role, rank, place, visited, n_passages };
            passage.unfold()?;
        }
        notes.append(&mut walk.notes);
    }
    Ok(Unfolded { program: builder.finish(), notes: notes.into_iter().collect() })
}

/// Returns the role whose conditions hold.
fn role_of<'a>(graph: &'a Graph, setting: &Setting<'_>, rank: u32) -> Option<&'a Role> {
    let value_of = walk::values(graph, setting, rank);
    graph.roles.iter().find(|role| {
        role.conditions.iter().all(|(condition, holds)| {
            // A condition that depends on more than the rank selects within a role, not between roles.
            condition.value(&value_of).is_none_or(|value| (value != 0.0) == *holds)
        })
    })
}

#[cfg(test)]
mod tests;
