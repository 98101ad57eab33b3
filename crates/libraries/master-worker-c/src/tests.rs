//! Tests of the library from C.

mod examples;
mod executor;
mod header;
mod modes;
mod program;
