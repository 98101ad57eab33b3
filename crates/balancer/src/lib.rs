//! The daemon of a node that shares out its tasks with the other nodes of a cluster.
//!
//! One thread, the [`core`], takes all decisions: it hears [`core::words::Event`]s, one after the other, and
//! acts through [`core::words::Out`]. All others are edges that turn the world into events and acts into the
//! world: clients (`door`), processes (`keeper`), other nodes (`links`, `members`), the disk (`journal`).
//!
//! # Invariants
//! - A task that was answered with its name is on disk, and is run until it has ended, whoever is killed.
//! - A task never runs twice at the same time, as long as no clock runs half as fast as another one.
//! - The core waits for nobody; every channel and table has a bound.
//!
//! # Not here
//! When tasks move and where to (`balancing`); what clients see (`balanced`); arguments (`cli`).

mod aside;
mod blocks;
pub mod book;
pub mod client;
pub mod core;
pub mod daemon;
pub mod door;
pub mod journal;
pub mod keeper;
pub mod links;
mod locking;
pub mod measure;
pub mod members;
mod secrets;
pub mod web;
