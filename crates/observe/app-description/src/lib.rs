//! The application description (`APP.toml`): actors, events and tuning points of a program, by the
//! names used in its source.
//!
//! [`read()`] finds the errors in a text, [`check()`] the mismatches with the program; each returns all problems at
//! once, and [`DescriptionProblem::render`] formats them for the user.
//!
//! # Invariants
//! - Pure: takes a text, returns a description and a list of problems, each with its line.
//! - A description contains names only. Their addresses in the program are resolved elsewhere.
//!
//! # Not here
//! Symbols and debug information (`symbols`; queried through [`ProgramNames`]), use of the description (`tunlets`).

mod admit;
mod check;
pub mod description;
mod levers;
mod near;
mod problem;
mod program;
mod read;

pub use check::{check, complete};
pub use description::{
    Actor, Application, AttributeSource, ChangeKind, EventAttribute, EventPoint, IterationMark,
    Past, Range, RankSet, TuningPoint,
};
pub use near::nearest;
pub use problem::{DescriptionProblem, Level};
pub use program::{FunctionFacts, Passed, ProgramNames, ReachedFacts, VariableFacts};
pub use read::{FORMAT, read};
