//! Tests of `cg` from outside: against a direct solver, on any number of ranks, from files, and the program itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod files;
mod matrices;
mod program;
mod resizes;
mod solutions;
mod threads;
