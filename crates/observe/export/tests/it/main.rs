//! Tests of the exports through the public API, on a small trace of three ranks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod chrome;
mod paraver;
mod replay;
mod sample;
mod simgrid;
mod speedscope;
