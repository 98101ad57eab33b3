//! The application description (`APP.toml`): actors, events and tuning points of a program, by the names
//! that its source gives them.
//!
//! # Invariants
//! - Pure: a text in, a description and a list of problems out, each with its line.
//! - What is described here is names. Where a name lies in a program is known elsewhere.
//!
//! # Not here
//! Symbols and debug information (`symbols`), what is done with it (`tunlets`).

pub mod description;

pub use description::{
    Actor, Application, AttributeSource, Change, EventAttribute, EventPoint, Iteration, Range,
    Ranks, TuningPoint,
};
