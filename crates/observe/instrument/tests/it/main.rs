//! Programs with probes compute the same results, and every passage is recorded.
#![allow(clippy::unwrap_used, reason = "tests")]

mod actions;
mod attributes;
mod outcomes;
mod run;
