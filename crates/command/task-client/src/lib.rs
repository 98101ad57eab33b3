//! `sintonia node`, `submit`, `nodes`, `tasks`, `cancel`, `rerun` and `explain`: starts the daemon of a node, and asks it.
//!
//! # Not here
//! The daemon itself (`node-daemon`), pages and tables of nodes and tasks (`report`).

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

pub mod cancel;
pub mod explain;
mod location;
pub mod node;
pub mod nodes;
mod requests;
pub mod rerun;
pub mod submit;
mod submitted;
pub mod tasks;
