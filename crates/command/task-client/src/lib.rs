//! `sintonia node`, `submit`, `nodes`, `tasks`, `jobs`, `cancel`, `hold`, `release`, `rerun` and `explain`: starts the daemon of
//! a node, and asks it.
//!
//! # Not here
//! The daemon itself (`node-daemon`), pages and tables of nodes and tasks (`report`).

#![expect(clippy::missing_errors_doc, reason = "`run` fails with a sentence for the user")]

#[macro_use]
extern crate user_io;

pub mod cancel;
mod cluster_key;
pub mod explain;
pub mod hold;
pub mod jobs;
mod location;
pub mod node;
pub mod nodes;
mod requests;
pub mod rerun;
pub mod submit;
pub mod submit_file;
mod submitted;
pub mod tasks;
mod wait_options;
