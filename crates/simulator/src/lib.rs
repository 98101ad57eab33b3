//! The rules of the suite in simulated time: the same code that runs in programs, on described machines.
//!
//! # Invariants
//! - Pure (I1): time is a number, and randomness comes from a seed.
//! - No rule is written down again here.
//!
//! # Not here
//! Rules (`balancing`, `chunking`), options and pictures (`cli`).

pub mod balance;
pub mod chunking;
pub mod random;
