//! Variables and functions through which tuning tools observe and control a malleable program.
//!
//! Between two checks of rank 0 lies a *stretch* of iterations. Its start and end are functions that do nothing, where
//! tools measure; at its start a tool may write another number of ranks, which rank 0 takes as a resize request.
//! `malleable.toml` describes them; every executable carries it, so that `sintonia run --tunlet` needs no other
//! description.
//!
//! # Invariants
//! - Variables have the types of C, and are read and written as atomics.
//! - Names are found in a stripped program, too: a table holds their addresses.
//!
//! # Not here
//! Handling of resize requests (`malleable`). The same for master/worker programs (`tuning-points`) is a separate
//! crate, since a program carries one description.

mod description;
mod stretch;
mod variables;

pub use description::DESCRIPTION;
pub use stretch::{end, start};
