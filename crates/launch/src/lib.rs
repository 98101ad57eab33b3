//! Starts programs on ranks of the installed MPI libraries, for tests: under a deadline, and nothing is left. Programs
//! of ours are those of the release profile, as users have them ([`place`]).
//!
//! A [`Library`] knows its launcher, its compilers and what its launcher wants to be told; a [`Job`] is a command
//! that is started in its own process group. What came of it is found by a variable in its environment.
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
//! - Every process started has a deadline; past it, all that came of it is killed.
//! - After every job nothing that came of it lives.
//! - A library that is missing is a failure whose message names the command that installs it.
//!
//! # Not here
//! Programs in C, C++ and Fortran, and `sintonia` itself (`suite`).

// What is wrong with a machine or a program ends the test at once; there is no one to return an error to.
#![expect(clippy::panic, reason = "a harness of tests fails by panicking")]
#![expect(clippy::missing_panics_doc, reason = "as above")]

pub mod job;
pub mod library;
pub mod place;
mod traces;

pub use job::{Ended, Job, Running};
pub use library::Library;
pub use place::example;
