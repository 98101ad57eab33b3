//! The library from C.

mod header;
mod program;
