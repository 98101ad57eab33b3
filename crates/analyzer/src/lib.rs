//! Collectors per node, the analyzer of a run, and what a run's measurements add up to.
//!
//! `collector` runs as a process of its own on every node, `server` in the launcher. `assemble` turns
//! what they brought together into the run record.
//!
//! # Invariants
//! - The program under observation is never waited for and never made to wait.
//! - Whichever of our processes is killed, what was in shared memory reaches the record: `recover` looks
//!   where it may be.
//!
//! # Not here
//! What writes the shared memory (`probe`), the messages' bytes (`wire`), printing (`cli`).

pub mod assemble;
pub mod collector;
pub mod handshake;
pub mod leftovers;
pub mod measured;
pub mod place;
pub mod recover;
pub mod server;
pub mod snapshot;
#[cfg(test)]
mod testing;
pub mod tuning;

pub use assemble::{AssembleError, Assembled, assemble, summarize};
pub use collector::{Collector, CollectorError, CollectorOptions};
pub use measured::{EventFacts, Measured, NodeClock, ProbedFunction, RunFacts, Spool};
pub use place::{Place, PlaceError};
pub use server::{Outstanding, Server, ServerOptions};
pub use tuning::TuningOptions;
