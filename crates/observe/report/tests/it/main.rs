//! Tests of the presentation through the public API.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod balance;
mod browser;
mod html;
mod live;
mod samples;
mod terminal;
