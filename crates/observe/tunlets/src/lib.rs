//! The tunlet interface, the built-in tunlets, and arbitration and judgment of their decisions.
//!
//! A *tunlet* addresses one performance problem: what to measure, a performance model of it, and what to
//! change. It hears [`News`] and answers with [`Decision`]s; the conductor decides which of them are carried
//! out, measures their effect, and undoes those that made the program slower.
//!
//! # Invariants
//! - Pure: time comes with the news; no clock, file, socket, thread or environment (I1).
//! - A tunlet sees ranks, events and names; never hosts, process ids, sockets or bytes (I4).
//!
//! # Not here
//! Tunlets in shared libraries (`tunlet-abi`), and the transport of news and actions (`tuner`).

pub mod binding;
pub mod built_in;
mod chunks;
pub mod collectives;
pub mod conductor;
pub mod factoring;
pub mod imbalance;
mod lookup;
pub mod memory;
pub mod rehearsal;
mod rest;
pub mod search;
pub mod threads;
pub mod tunlet;
pub mod waiting;
pub mod worker_count;

pub use built_in::{built_in, built_in_guides, built_in_specs};
pub use events::Moments;
pub use tunlet::{
    Applied, Decision, Detail, EventNeed, EventNews, Guide, IterationNews, News, Performance,
    PointNeed, RankUsage, Requests, SummaryNews, Tunlet, TunletError, TunletSpec, World,
};

/// Tutorial for authors of tunlets, whose code is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/tunlets.md")]
pub struct WalkThrough;
