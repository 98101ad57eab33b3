//! The master/worker library for C and C++: `include/master_worker.h` is made from this crate.
//!
//! # Invariants
//! - No panic reaches C: the functions here catch it or cannot panic, and a chunk that fails is thrown as a
//!   panic only after the function of C has returned.
//! - What C is given stays where it is until the called function returns.
//!
//! # Not here
//! Dealing (`master-worker`); structs as messages (`structures`).

#![expect(unsafe_code, reason = "functions and data of C")]

pub mod abi;
pub mod buffer;
mod bytes;
pub mod failure;
pub mod map;
pub mod options;
mod program;
mod report;
pub mod run;
#[cfg(test)]
mod tests;
