//! The crate from outside.
#![allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "tests compare what they made")]

mod accuracy;
mod error;
mod synthetic;
mod tables;
