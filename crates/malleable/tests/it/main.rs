//! The crate from outside.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod companions;
mod moving;
mod resizing;
