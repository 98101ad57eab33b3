//! Builds and starts real MPI programs, bare and under `sintonia run`, for the tests in `tests/it`.
//!
//! A [`TestProgram`] is built once for each [`Library`] into `target/suite`; [`watch`] starts a [`Job`] under
//! `sintonia run` and reads its record back.
//!
//! # Invariants
//! - After every job its folder of shared memory is empty.
//! - A missing component is a failure whose message names the command that installs it.
//!
//! # Not here
//! Launchers and deadlines (`launch`), the programs (`programs/`), and the expected results of the tool (`tests/it`).

// A problem of the machine or a program ends the test at once: no caller could handle an error.
#![expect(clippy::panic, reason = "a harness of tests fails by panicking")]
#![expect(clippy::missing_panics_doc, reason = "as above")]

pub mod cluster;
pub mod expectation;
pub mod program;
pub mod slurm;
pub mod tool;

pub use cluster::Cluster;
pub use expectation::Expected;
pub use launch::{EndedJob, Job, Library, StartedJob, job, library};
pub use program::TestProgram;
pub use slurm::Slurm;
pub use tool::{Watched, watch, watch_with};
