//! Collectors of the nodes, the analyzer of a run, and the aggregation of a run's measurements.
//!
//! `collector` runs as a separate process on every node, `server` in the launcher. `assemble` turns the collected
//! measurements into the run record.
//!
//! # Invariants
//! - The observed program never waits for the tool, and the tool never blocks on the program.
//! - Whichever process of the tool is killed, the data in shared memory reach the record: `recover` looks in all
//!   places where they may be.
//!
//! # Not here
//! Writing to shared memory (`probe`), the format of messages (`wire`), printing (`watch`).

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
pub use place::{EnvironmentError, RunEnvironment};
pub use server::{Outstanding, Server, ServerOptions};
pub use tuning::TuningOptions;
