//! The crate from outside.

mod bodies;
mod deaths;
mod kill;
mod on_threads;
