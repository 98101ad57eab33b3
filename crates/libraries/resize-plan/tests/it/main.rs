//! Tests of the crate from outside.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]
#![allow(clippy::cast_possible_truncation, reason = "tests are small")]
#![allow(clippy::cast_precision_loss, reason = "tests count little")]

mod laws;
mod payoffs;
mod queues;
