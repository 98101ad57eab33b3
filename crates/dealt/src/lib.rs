//! What became of the work that a master dealt out: numbers of a run, and the same in words.
//!
//! A program of the master/worker library fills a [`Dealt`] while it runs, and writes it as JSON; reports show it.
//!
//! # Invariants
//! - Pure: nothing is measured here.
//! - Every list has a bound; what is left out is counted, and sums are of all.
//! - Fields are added over time and never change their meaning; a change of meaning raises [`FORMAT_VERSION`].
//!
//! # Not here
//! Who measures (`master-worker`), pictures (`dashboard`).

mod growth;
mod run;
mod units;
mod words;

pub use growth::Iterated;
pub use run::{Change, Chunk, Dealt, FORMAT_VERSION, IterationLine, Slowest, Sums, Worker};
pub use words::lines;
