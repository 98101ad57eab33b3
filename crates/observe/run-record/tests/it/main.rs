//! Tests of the record through its public interface.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod event_file;
mod folder;
mod function_file;
mod samples;
mod spool;
