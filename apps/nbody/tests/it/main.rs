//! Tests of `nbody` from outside: known orbits, conserved quantities, and the program itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod on_ranks;
mod orbits;
mod program;
mod runs;
