//! Builds and starts real MPI programs, bare and under `sintonia run`, for the tests in `tests/it`.
//!
//! A [`Program`] is built once for each [`Library`] into `target/suite`. A [`Job`] is a command that is
//! started in its own process group under a deadline; [`watch`] starts it under `sintonia run` and reads
//! its record back.
//!
//! # Invariants
//! - Every process started has a deadline; past it, all that came of it is killed.
//! - After every job nothing that came of it lives, and its folder of shared memory is empty.
//! - A component that is missing is a failure whose message names the command that installs it.
//!
//! # Not here
//! The programs (`programs/`), and what is expected of the tool (`tests/it`).

// What is wrong with a machine or a program ends the test at once; there is no one to return an error to.
#![expect(clippy::panic, reason = "a harness of tests fails by panicking")]
#![expect(clippy::missing_panics_doc, reason = "as above")]

pub mod cluster;
pub mod expectation;
pub mod job;
pub mod library;
pub mod program;
pub mod slurm;
pub mod tool;
mod traces;

pub use cluster::Cluster;
pub use expectation::Expected;
pub use job::{Ended, Job, Running};
pub use library::Library;
pub use program::Program;
pub use slurm::Slurm;
pub use tool::{Watched, watch, watch_with};
