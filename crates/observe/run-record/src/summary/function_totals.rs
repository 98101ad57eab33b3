//! Counts and times of functions selected by the user (`--probe`).

use super::SourceLocation;
use events::{Moments, ProbePoint};
use serde::{Deserialize, Serialize};

/// Totals of a function over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FunctionTotals {
    /// Source location; the function's name includes its parameter types where they are known.
    pub place: SourceLocation,
    /// Over all ranks.
    pub total: FunctionTimes,
    /// Times by rank, for the ranks that called the function: positions in [`crate::Summary::ranks`], in
    /// order. Omitted for the functions with the least time when there are many ranks.
    pub by_rank: Vec<(usize, FunctionTimes)>,
    /// Rank with the most time in the function, as a position in [`crate::Summary::ranks`], and that time.
    pub slowest: Option<(usize, f64)>,
}

/// Number of calls of a function and their times from entry to exit, callees included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FunctionTimes {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls whose end was recorded: only these are in the times.
    pub calls_timed: u64,
    /// Total time in s; of nested calls only the outermost counts.
    pub time_s: f64,
    /// Mean time of a call in s.
    pub mean_s: f64,
    /// Shortest call in s.
    pub min_s: f64,
    /// Longest call in s.
    pub max_s: f64,
    /// Standard deviation of the time of a call in s.
    pub deviation_s: f64,
}

impl FunctionTimes {
    /// Builds the times of `calls` calls; those that were timed took `each_s` each and `time_s` in total.
    pub fn new(calls: u64, each_s: &Moments, time_s: f64) -> Self {
        Self {
            calls,
            calls_timed: each_s.n,
            time_s,
            mean_s: each_s.mean,
            min_s: each_s.min,
            max_s: each_s.max,
            deviation_s: each_s.variance().sqrt(),
        }
    }
}

impl FunctionTotals {
    /// Largest time of a rank over the mean of all `n_ranks`; `None` if nothing was timed.
    pub fn imbalance(&self, n_ranks: usize) -> Option<f64> {
        let (_, most_s) = self.slowest?;
        let mean_s = self.total.time_s / n_ranks.max(1) as f64;
        (0.0 < mean_s).then(|| most_s / mean_s)
    }
}

/// Sums over the passages of one measurement point in the whole run.
///
/// Passages recorded as [`crate::FunctionEvent`]s are not included, nor functions selected by `--probe`
/// ([`FunctionTotals`]).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(each_s: &[f64], expected: [f64; 4]) {
        let mut moments = Moments::default();
        each_s.iter().for_each(|time_s| moments.add(*time_s));
        let times = FunctionTimes::new(9, &moments, 1.0);
        let found = [times.mean_s, times.min_s, times.max_s, times.deviation_s];
        let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(is_near, "{found:?}");
        assert_eq!((times.calls, times.calls_timed), (9, each_s.len() as u64));
    }

    #[test]
    fn times_are_those_of_calls() {
        check(&[], [0.0; 4]);
        check(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], [5.0, 2.0, 9.0, 2.0]);
    }

    #[track_caller]
    fn check_imbalance(time_s: f64, slowest: Option<(usize, f64)>, expected: Option<f64>) {
        let total = FunctionTimes { time_s, ..FunctionTimes::default() };
        let totals = FunctionTotals { total, slowest, ..FunctionTotals::default() };
        assert_eq!(totals.imbalance(4), expected);
    }

    #[test]
    fn imbalance_counts_ranks_that_never_called_it() {
        check_imbalance(4.0, Some((2, 1.0)), Some(1.0));
        check_imbalance(4.0, Some((2, 4.0)), Some(4.0));
        check_imbalance(0.0, Some((2, 0.0)), None);
        check_imbalance(0.0, None, None);
    }
}
