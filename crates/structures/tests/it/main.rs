//! The crate from outside.

mod code;
mod problems;
mod reading;
