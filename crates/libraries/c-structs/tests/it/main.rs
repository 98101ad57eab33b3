//! Tests of the crate's public API.

mod code;
mod problems;
mod reading;
