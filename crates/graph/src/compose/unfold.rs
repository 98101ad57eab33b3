//! A graph as a program of so many ranks, for given values of its names.
//!
//! Each rank follows the role whose conditions hold for it. Loops with MPI inside are passed as often as their count
//! says, or as was measured; branches take the arm that their condition says, or else arms in turn, so that
//! each is taken in its share of the passages: expected values. With a seed they are drawn instead.
//!
//! Computation, and bytes that the source does not say, come from the caller: what a region takes of one or the
//! other on each rank of a role, over all its passages.
//!
//! # Invariants
//! - What is left out of the program is a note, once.
//! - All ranks take the same arms of a branch, so that messages inside find each other.
//!
//! # Not here
//! Where times of regions come from: models (`fitting`) or a measured graph, by the caller.

mod operation;
mod walk;

use super::program::{Place, Program, ProgramBuilder, ProgramError};
use crate::shape::{Graph, Node, Role};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use walk::Walk;

/// Most steps of all ranks.
const N_STEPS_MAX: usize = 20_000_000;

/// What is asked of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Seconds of computation before its MPI calls.
    Computation,
    /// Bytes of its MPI calls.
    Bytes,
}

/// For what a graph is unfolded.
pub struct Setting<'a> {
    /// Ranks.
    pub n_ranks: usize,
    /// What a name of the program is worth on a rank.
    pub value_of: &'a dyn Fn(&str, u32) -> Option<f64>,
    /// What a region comes to on a rank of the role, over all passages.
    pub amount_of: &'a dyn Fn(&Role, &Node, Amount) -> Option<f64>,
    /// Draws arms of branches; without one they are taken in turn.
    pub seed: Option<u64>,
}

/// Why a graph is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnfoldError {
    /// No role is that of a rank.
    #[error(
        "no role is that of rank {rank}: a condition of the program needs values of more names, or more sources"
    )]
    NoRole {
        /// The rank.
        rank: u32,
    },
    /// A number that decides about the program is not known.
    #[error("`{label}` needs the value of `{expression}`: give it, or the sources that say it")]
    Unknown {
        /// The MPI operation or loop.
        label: String,
        /// What is not known.
        expression: String,
    },
    /// It is too long.
    #[error("the program has more than {N_STEPS_MAX} steps: ask for fewer ranks or iterations")]
    TooLong,
    /// A step names a rank or a request that is not there.
    #[error("`{label}` cannot be a step")]
    Step {
        /// The MPI operation.
        label: String,
        /// Why.
        source: ProgramError,
    },
}

/// A program, and what it lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfolded {
    /// The program.
    pub program: Program,
    /// What is left out or guessed.
    pub notes: Vec<String>,
}

/// Unfolds a graph.
///
/// # Errors
/// When a rank has no role, or a peer or a count is not known.
pub fn unfold(graph: &Graph, setting: &Setting<'_>) -> Result<Unfolded, UnfoldError> {
    let mut builder = ProgramBuilder::new(setting.n_ranks);
    let mut notes = BTreeSet::new();
    let mut n_steps = 0;
    for rank in 0..u32::try_from(setting.n_ranks).unwrap_or(u32::MAX) {
        let role = role_of(graph, setting, rank).ok_or(UnfoldError::NoRole { rank })?;
        let mut walk = Walk::new(graph, setting, rank, N_STEPS_MAX - n_steps);
        walk.sequence(&role.body)?;
        n_steps += walk.passages.len();
        let shares = Shares::of(&walk.passages);
        let here = operation::Here { rank, role, shares, setting };
        for passage in &walk.passages {
            let region = builder.region(&region_name(role, passage.node));
            let place = Place { region, site: passage.node.place.line };
            operation::push(&mut builder, &here, place, passage)?;
        }
        notes.append(&mut walk.notes);
    }
    Ok(Unfolded { program: builder.finish(), notes: notes.into_iter().collect() })
}

/// `master->matmul.c:88 MPI_Send`, as measurements call it.
fn region_name(role: &Role, node: &Node) -> String {
    format!("{}->{}", role.name, node.label().unwrap_or_default())
}

/// The role whose conditions hold.
fn role_of<'a>(graph: &'a Graph, setting: &Setting<'_>, rank: u32) -> Option<&'a Role> {
    let value_of = walk::values(graph, setting, rank);
    graph.roles.iter().find(|role| {
        role.conditions.iter().all(|(condition, holds)| {
            // What depends on more than the rank decides within a role.
            condition.value(&value_of).is_none_or(|value| (value != 0.0) == *holds)
        })
    })
}

/// How often a rank passes each node.
struct Shares {
    n_passages: BTreeMap<String, f64>,
}

impl Shares {
    fn of(passages: &[walk::Passage<'_>]) -> Self {
        let mut n_passages = BTreeMap::new();
        for passage in passages {
            // Places that share a line share what was measured there.
            *n_passages.entry(passage.node.label().unwrap_or_default()).or_default() += 1.0;
        }
        Self { n_passages }
    }

    /// A passage's part of what a region comes to.
    fn part(&self, node: &Node, all: f64) -> f64 {
        let label = node.label().unwrap_or_default();
        all / self.n_passages.get(&label).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests;
