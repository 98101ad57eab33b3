//! Passages of measurement points that were summed on the nodes instead of being recorded one by one.
//!
//! # Not here
//! Functions selected by `--probe` ([`crate::FunctionTotals`]).

use events::{Moments, ProbePoint};
use serde::{Deserialize, Serialize};

/// Sums over the passages of one measurement point in the whole run.
///
/// Passages recorded as [`crate::FunctionEvent`]s are not included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionSums {
    /// Name of the event.
    pub event: String,
    /// Name of the function in the source.
    pub function: String,
    /// Entry or exit of the function.
    pub place: ProbePoint,
    /// Passages.
    pub n: u64,
    /// Times of the first and the last passage, in ns since the start of the run.
    pub span_ns: (u64, u64),
    /// Name and statistics of each attribute, in the order of the description.
    pub attributes: Vec<(String, Moments)>,
    /// Time in seconds from the entry to the exit on the same thread; empty for an entry.
    pub duration_s: Moments,
}
