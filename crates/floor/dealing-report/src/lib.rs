//! Report on the load balancing of a master/worker run: its numbers, and a summary in words.
//!
//! A program of the master/worker library fills a [`DealingReport`] while it runs, and writes it as JSON; reports show it.
//!
//! # Invariants
//! - Pure: nothing is measured here.
//! - Every list is bounded; left-out entries are counted, and sums include them.
//! - Fields may be added but never change their meaning; a change of meaning raises [`FORMAT_VERSION`].
//!
//! # Not here
//! Measuring (`master-worker`), charts (`report`).

mod growth;
mod run;
mod words;

pub use growth::Iterated;
pub use run::{
    ChunkRecord, DealingReport, FORMAT_VERSION, IterationChange, IterationLine, Slowest, Sums,
    Worker,
};
pub use words::lines;
