//! Decisions of a node that shares its tasks with the other nodes of a cluster, without clocks, threads, files and sockets.
//!
//! The [`Core`] takes [`interface::CoreEvent`]s, one after the other, and acts through [`interface::Out`]. Its tasks are in a
//! [`book::Book`], which is the result of the records that it has appended to its journal. Time is an argument.
//!
//! # Not here
//! Sockets, processes, links and the journal's file (`node-daemon`); the rules by which tasks move
//! (`balancing-policies`); requests and answers of clients (`task-api`).

mod attempt;
pub mod book;
mod core;
pub mod interface;
pub mod membership_table;
mod peer_message;
mod pool;
mod terms;

pub use crate::core::{Core, CoreOptions};
