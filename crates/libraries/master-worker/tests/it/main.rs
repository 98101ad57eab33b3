//! Tests of the crate from outside.

mod bodies;
mod deaths;
mod elements;
mod kill;
mod on_ranks;
mod on_ranks_elastic;
mod on_threads;
mod steps;
