//! Passages of measurement points that were added up on the nodes instead of being recorded one by one.
//!
//! # Not here
//! Functions that `--probe` chose (`function_totals`).

use events::{Moments, Place};
use serde::{Deserialize, Serialize};

/// Passages of one measurement point in the whole run.
///
/// Those that are in [`crate::FunctionEvent`] are not among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionSums {
    /// Name of the event.
    pub event: String,
    /// The function, as its source calls it.
    pub function: String,
    /// Entry or exit of it.
    pub place: Place,
    /// Passages.
    pub n: u64,
    /// First and last passage, in nanoseconds since the start of the run.
    pub span_ns: (u64, u64),
    /// Each attribute, in the order of the description.
    pub attributes: Vec<(String, Moments)>,
    /// Seconds from the entry to the exit on the same thread, for an exit.
    pub duration_s: Moments,
}
