//! `sintonia malleable`, `resize` and `slurm-policy`: starts malleable programs, and asks them for another size.
//!
//! # Not here
//! The programs' side (`malleable`); which job gets which nodes (`resize-plan`).

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

mod control;
pub mod malleable;
pub mod resize;
pub mod slurm_policy;
