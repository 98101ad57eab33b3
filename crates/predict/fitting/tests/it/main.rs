//! Tests through the public API: accuracy of predictions, and the information that models give.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod accuracy;
mod breakpoints;
mod curves;
mod formats_of_others;
mod laws;
mod models;
mod placements;
mod samples;
mod synthetic;
mod tables;
