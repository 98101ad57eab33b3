//! Tests of the library from C.

mod examples;
mod header;
mod modes;
mod program;
