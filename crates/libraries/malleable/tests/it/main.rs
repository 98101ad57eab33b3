//! Tests of the crate from outside.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod checkpoints;
mod companions;
mod deciding;
mod faults;
mod moving;
mod resizing;
