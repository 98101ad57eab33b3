//! Collectors per node, the analyzer of a run, and what a run's measurements add up to.

pub mod measured;

pub use measured::{Measured, NodeClock, RunFacts, Spool};
