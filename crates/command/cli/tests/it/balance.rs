//! Tests of the commands of a cluster, with real daemons on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod browser;
mod commands;
mod compaction;
mod daemon;
mod damage;
mod durability;
mod end;
mod failures;
mod python_client;
mod several;
mod users;
mod view;
mod web;
mod wishes;
