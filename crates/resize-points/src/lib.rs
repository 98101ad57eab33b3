//! The variables and functions by which tuning tools know a malleable program.
//!
//! Between two looks of rank 0 lies a *stretch* of iterations. Its start and end are functions that do nothing, where tools
//! measure; at its start a tool may write another number of ranks, which rank 0 takes as a wish. `malleable.toml` describes
//! them; every program carries it in its file, so that `sintonia run --tunlet` needs no other description.
//!
//! # Invariants
//! - Variables have the types of C, and are read and written as atomics.
//! - Names are found in a program without symbols, too: a table says where they lie.
//!
//! # Not here
//! What becomes of a wish (`malleable`). The same for masters and workers (`tuning-points`), in a crate of its own since
//! a program carries one description.

mod description;
mod stretch;
mod variables;

pub use description::DESCRIPTION;
pub use stretch::{end, start};
