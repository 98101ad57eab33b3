//! Cost of probes: `cargo run --release --package instrument --example price`.
//!
//! Prints lines of a name and two numbers, in nanoseconds. Passages: processor time of a call, in the fastest round
//! and in the median one; in a round all cases take turns. Changes of code (`insert-N`, `remove-N` beside N busy
//! threads, `insert-many` and `remove-many`): wall-clock time, the median and the 99th percentile.
#![allow(unsafe_code, reason = "calls functions assembled by hand")]
#![allow(clippy::print_stdout, reason = "prints what it measures")]

mod change;
mod functions;
mod passage;
mod rings;

use instrument::{Instrument, Refusal, ThreadHooks};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let probes = Instrument::start(ThreadHooks { attach: rings::attach })?;
    passage::measure(&probes)?;
    change::measure(&probes)?;
    Ok(())
}

/// Returns the first refusal among many outcomes.
fn all<T>(outcomes: Vec<Result<T, Refusal>>) -> Result<(), Refusal> {
    outcomes.into_iter().try_for_each(|outcome| outcome.map(drop))
}

fn print(name: &str, first_ns: f64, second_ns: f64) {
    println!("{name} {first_ns:.2} {second_ns:.2}");
}

/// Returns the value below which this share of all values lies; sorts the values.
fn quantile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len().saturating_sub(1)) * percent / 100).copied().unwrap_or_default()
}
