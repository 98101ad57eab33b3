//! Runs the rules of the suite in simulated time: the same code as in programs, on described machines.
//!
//! # Invariants
//! - Pure (I1): time is a number, and randomness comes from a seed.
//! - No rule is implemented again here: jobs run the whole core of a node, queues the rule of `sintonia slurm-policy`.
//!
//! # Not here
//! Rules (`balancing-policies`, `chunking`, `resize-plan`), options and pictures (`cli`).

pub mod balance;
pub mod chunking;
pub mod jobs;
pub mod queue;
pub mod ratios;
pub mod sizes;
