//! Functions that were counted and timed because somebody named them (`--probe`).

use crate::summary::Place;
use events::Moments;
use serde::{Deserialize, Serialize};

/// A function over all ranks and threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FunctionTotals {
    /// Where its source is; its name has the types of its parameters where these are known.
    pub place: Place,
    /// Over all ranks.
    pub total: FunctionTimes,
    /// The ranks that called it: positions in [`crate::Summary::ranks`], in order. Of the functions with the
    /// least time none when ranks are many.
    pub by_rank: Vec<(usize, FunctionTimes)>,
    /// The rank with the most time in it, as a position in [`crate::Summary::ranks`], and that time.
    pub slowest: Option<(usize, f64)>,
}

/// Calls of a function and their times, from entry to exit: what it calls is included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FunctionTimes {
    /// Calls.
    pub calls: u64,
    /// Those of which the end was seen: only they are in the times.
    pub calls_timed: u64,
    /// Their time together; of calls inside one another, only of the outermost.
    pub time_s: f64,
    /// Time of a call.
    pub mean_s: f64,
    /// The shortest call.
    pub min_s: f64,
    /// The longest call.
    pub max_s: f64,
    /// Standard deviation of the calls' times.
    pub deviation_s: f64,
}

impl FunctionTimes {
    /// Of `calls`, of which those that were timed took `each_s`, and together `time_s`.
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
    /// The most time of a rank over the mean of all `n_ranks`; none when nothing was timed.
    pub fn imbalance(&self, n_ranks: usize) -> Option<f64> {
        let (_, most_s) = self.slowest?;
        let mean_s = self.total.time_s / n_ranks.max(1) as f64;
        (0.0 < mean_s).then(|| most_s / mean_s)
    }
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
