//! What was measured in a run, in a folder that every later tool reads.

pub mod summary;

pub use summary::Summary;
