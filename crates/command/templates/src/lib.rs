//! `sintonia new` and `new-tunlet`: makes projects to start from.

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

pub mod new;
pub mod new_tunlet;
mod project;
