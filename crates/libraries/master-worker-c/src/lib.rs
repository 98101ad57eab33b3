//! The master/worker library for C and C++: `include/master_worker.h` is generated from this crate.
//!
//! # Invariants
//! - No panic reaches C: the functions here catch it or cannot panic, and a failed chunk becomes a panic
//!   only after the C function has returned.
//!  - Memory passed to C stays in place until the called function returns.
//!
//! # Not here
//! Dealing of tasks (`master-worker`); structs as messages (`c-structs`).

#![expect(unsafe_code, reason = "functions and data of C")]

pub mod abi;
pub mod bag;
pub mod buffer;
mod bytes;
pub mod callbacks;
pub mod failure;
mod hints;
pub mod kept;
pub mod map;
pub mod options;
mod program;
pub mod run;
#[cfg(test)]
mod tests;
