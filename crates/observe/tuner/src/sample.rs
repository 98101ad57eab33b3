//! Times and usage of a rank up to a report.

use events::Rank;
use events::usage::{Cores, Usage};
use std::collections::HashMap;

/// A place in the program, the same in all ranks: module and offset in its file.
pub(super) type Spot = (String, u64);

/// Times of a rank up to a report.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Time of the report by the analyzer's clock, in s.
    pub(super) time_s: f64,
    pub(super) mpi_s: f64,
    /// Computation time before each call site, in s.
    pub(super) compute_s: HashMap<Spot, f64>,
    pub(super) usage: Usage,
    pub(super) cores: Cores,
}

/// Rank with its samples at the beginning and at the end of a time.
pub(super) type Span<'a> = (Rank, &'a Sample, &'a Sample);
