//! The library for malleable programs in C and C++: `include/malleable.h` is generated from this crate.
//!
//! # Invariants
//! - No panic reaches C, and the process is never ended: errors are codes, and a sentence on request.
//! - Arrays of the program come from `malloc`, before and after a resize, and each is freed once; or they stay in a
//!   container of the program.
//! - Functions of the program that the library calls may ask it for the communicator, and for nothing else.

#![expect(unsafe_code, reason = "functions and data of C")]

pub mod abi;
pub mod arguments;
mod arrays;
pub mod failure;
pub mod fortran;
mod memory;
mod packed;
pub mod register;
pub mod rows;
pub mod run;
mod state;
#[cfg(test)]
mod tests;
