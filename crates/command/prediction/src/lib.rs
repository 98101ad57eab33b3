//! `sintonia fit`, `predict`, `validate` and `graph`: models of a program's time, its structure, and predictions from both.
//!
//! # Not here
//! Finding models (`fitting`), graphs and their composition into a time (`program-graph`): here are the files that users name,
//! and tables and pictures.

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

pub mod fit;
pub mod graph;
mod input;
pub mod predict;
mod text;
pub mod validate;
mod values;
