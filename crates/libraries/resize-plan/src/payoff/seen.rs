//! Measured times of iterations at the sizes that a program has had.

use statistics::median;
use std::collections::{BTreeMap, VecDeque};

/// Number of iterations kept per size: the newest ones, because programs change.
const N_KEPT: usize = 64;
/// Smallest number of iterations for a size to count as known.
const N_LEAST: usize = 3;
/// Ratio of the standard deviation to the median absolute deviation, for normal values.
const DEVIATIONS: f64 = 1.4826;
/// Ratio of the standard error of a median to that of a mean, for normal values.
const MEDIAN_FACTOR: f64 = 1.2533;
/// Smallest error of a measurement, as a share of its value.
const ERROR_SHARE_MIN: f64 = 0.01;

/// Measurement at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeMeasurement {
    /// Number of processes.
    pub size: u32,
    /// Time of an iteration, in seconds.
    pub seconds: f64,
    /// Error of that time, in seconds.
    pub error_s: f64,
}

/// Times of iterations by size.
///
/// The time of a size is the median, so that an iteration that was disturbed, or delayed by moving data, counts no more
/// than another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    seconds: BTreeMap<u32, VecDeque<f64>>,
}

impl History {
    /// Adds an iteration; invalid times are ignored.
    pub fn add(&mut self, size: u32, seconds: f64) {
        if size == 0 || !seconds.is_finite() || seconds <= 0.0 {
            return;
        }
        let kept = self.seconds.entry(size).or_default();
        if kept.len() == N_KEPT {
            kept.pop_front();
        }
        kept.push_back(seconds);
    }

    /// Sizes with enough measurements, the smallest first.
    pub fn seen(&self) -> Vec<SizeMeasurement> {
        let enough = self.seconds.iter().filter(|(_, kept)| N_LEAST <= kept.len());
        enough.map(|(size, kept)| summary(*size, kept)).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most `N_KEPT`")]
fn summary(size: u32, kept: &VecDeque<f64>) -> SizeMeasurement {
    let seconds = median(kept.iter().copied()).unwrap_or(0.0);
    let deviations = kept.iter().map(|one| (one - seconds).abs());
    let deviation = DEVIATIONS * median(deviations).unwrap_or(0.0);
    let error_s = 2.0 * MEDIAN_FACTOR * deviation / (kept.len() as f64).sqrt();
    SizeMeasurement { size, seconds, error_s: error_s.max(ERROR_SHARE_MIN * seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: &[f64], expected: Option<(f64, f64)>) {
        let mut history = History::default();
        for seconds in seconds {
            history.add(4, *seconds);
        }
        let found = history.seen().first().map(|seen| (seen.seconds, seen.error_s));
        let is_near = |found: f64, expected: f64| (found - expected).abs() < 1e-4;
        let is_right = match (found, expected) {
            (Some(found), Some(known)) => is_near(found.0, known.0) && is_near(found.1, known.1),
            _ => found == expected,
        };
        assert!(is_right, "{found:?} is not {expected:?}");
    }

    #[test]
    fn one_that_was_disturbed_does_not_count() {
        check(&[1.0, 1.0, 9.0, 1.0], Some((1.0, 0.01)));
        check(&[1.0, 1.2, 1.1, 1.3], Some((1.15, 0.1858)));
        check(&[1.0, f64::NAN, -1.0, 1.0], None);
        let mut many = vec![5.0; 100];
        many.extend([2.0; N_KEPT]);
        check(&many, Some((2.0, 0.02)));
    }
}
