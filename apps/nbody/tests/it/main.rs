//! The bodies from outside: known orbits, what is conserved, and the program itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod on_ranks;
mod orbits;
mod program;
mod runs;
