//! The library for malleable programs in C and C++: `include/malleable.h` is generated from this crate.
//!
//! # Invariants
//! - No panic reaches C, and the process is never ended: errors are codes, and a sentence on request.
//! - Arrays of the program come from `malloc`, before and after a resize; each is freed once.

#![expect(unsafe_code, reason = "functions and data of C")]

pub mod abi;
pub mod arguments;
mod arrays;
pub mod failure;
mod memory;
pub mod register;
pub mod run;
mod state;
#[cfg(test)]
mod tests;
