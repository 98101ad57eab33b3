//! Starts programs on ranks of the installed MPI libraries, for tests: with a deadline, and leaving nothing behind.
//! Programs of this repository are those of the release profile, as users have them ([`place`]).
//!
//! A [`Library`] knows its launcher and compilers, and the settings of its launcher; a [`Job`] is a command that is
//! started in its own process group. Its processes are found by a variable in their environment.
//!
//! ```no_run
//! use launch::{Library, example};
//!
//! for library in Library::ALL {
//!     let ended = library.launch(3, &example("ranks")).arg("all").run();
//!     assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
//! }
//! ```
//!
//! # Invariants
//! - Every job has a deadline; past it, all its processes are killed.
//! - After a job, none of its processes lives.
//! - A missing library is a failure whose message names the command that installs it.
//!
//! # Not here
//! Programs in C, C++ and Fortran, and `sintonia` itself (`suite`).

// A problem of the machine or a program ends the test at once: no caller could handle an error.
#![expect(clippy::panic, reason = "a harness of tests fails by panicking")]
#![expect(clippy::missing_panics_doc, reason = "as above")]

mod cleanup;
pub mod job;
pub mod library;
pub mod place;

pub use job::{EndedJob, Job, StartedJob};
pub use library::Library;
pub use place::example;
