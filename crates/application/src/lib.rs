//! The application description (`APP.toml`): actors, events and tuning points of a program, by the names
//! that its source gives them.
//!
//! [`read`] finds what is wrong in a text, [`check`] what the program does not have; each gives all problems at
//! once, and [`Problem::render`] shows them to people.
//!
//! # Invariants
//! - Pure: a text in, a description and a list of problems out, each with its line.
//! - What is described here is names. Where a name lies in a program is known elsewhere.
//!
//! # Not here
//! Symbols and debug information (`symbols`; [`ProgramNames`] is what is asked of them), what is done with it
//! (`tunlets`).

mod admit;
mod check;
pub mod description;
mod near;
mod problem;
mod program;
mod read;

pub use admit::AdmitError;
pub use check::{check, complete};
pub use description::{
    Actor, Application, AttributeSource, Change, EventAttribute, EventPoint, Iteration, Range,
    Ranks, TuningPoint,
};
pub use near::nearest;
pub use problem::{Level, Problem};
pub use program::{FunctionFacts, Passed, ProgramNames, VariableFacts};
pub use read::{FORMAT, read};
