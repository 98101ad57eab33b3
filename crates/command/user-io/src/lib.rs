//! Messages, results, values of options, files that users name, and exit codes of all subcommands of `sintonia`.
//!
//! # Not here
//! Tables, pages and the live view of runs and nodes (`report`).

// First, because its macros replace the standard ones in all modules below.
#[macro_use]
pub mod print;

pub mod bounded_read;
pub mod exit;
pub mod option_value;
pub mod progress;
pub mod result_file;
pub mod terminal;
