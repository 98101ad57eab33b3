//! Programs compute with probes what they compute without, and every passage is recorded.
#![allow(clippy::unwrap_used, reason = "tests")]

mod actions;
mod attributes;
mod outcomes;
mod run;
