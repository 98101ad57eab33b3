//! Tests of the library from C.

mod examples;
mod header;
mod program;
mod stencil;
