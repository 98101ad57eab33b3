//! Tests of the edges of a node's daemon, with real processes and sockets.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod chaos;
mod daemon;
mod door;
mod files;
mod keeper;
mod links;
mod members;
