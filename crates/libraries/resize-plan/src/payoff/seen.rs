//! Measured times of iterations at the sizes that a program has had, while the machine under it changes.

use super::Estimate;
use statistics::median;
use std::collections::{BTreeMap, VecDeque};

/// Number of measurements kept per size: the newest ones, because programs change.
const N_KEPT: usize = 64;
/// Smallest number of measurements for a size to count as known, and for its variation to be.
const N_LEAST: usize = 1;
const N_VARIATION: usize = 3;
/// Ratio of the standard deviation to the median absolute deviation, for normal values.
const DEVIATIONS: f64 = 1.4826;
/// Ratio of the standard error of a median to that of a mean, for normal values.
const MEDIAN_FACTOR: f64 = 1.2533;
/// Smallest error of a measurement, as a share of its value.
const ERROR_SHARE_MIN: f64 = 0.01;
/// The same where the variation is not known, for a single measurement.
const ERROR_SHARE_UNKNOWN: f64 = 0.2;
/// Number of newest measurements that are compared with those before them.
const N_NEWEST: usize = 5;
/// Smallest change of the time of an iteration that counts, as a ratio, and in deviations of one measurement.
const CHANGE_MIN: f64 = 1.15;
const CHANGE_DEVIATIONS: f64 = 3.0;
/// Age from which a measurement counts for little where times have changed before: a time, and a share of the run's.
const OLD_S: f64 = 5.0;
const OLD_SHARE: f64 = 0.25;

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
/// than another one. Where the newest iterations at a size take another time than those before, the machine or the
/// program has changed, and by how much is known of this size alone: that of every other one then lies between what was
/// measured and the same change, until the time returns to what it was or the size is had again.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    sizes: BTreeMap<u32, Times>,
    /// Product of all changes so far, and the largest change.
    level: f64,
    largest: f64,
    /// Time of all iterations.
    elapsed_s: f64,
}

/// Times at one size, and the level at which they were measured.
#[derive(Clone, Debug, Default, PartialEq)]
struct Times {
    seconds: VecDeque<f64>,
    level: f64,
    /// Time of all iterations up to the last one of these.
    until_s: f64,
}

impl Default for History {
    fn default() -> Self {
        Self { sizes: BTreeMap::new(), level: 1.0, largest: 1.0, elapsed_s: 0.0 }
    }
}

impl History {
    /// Adds iterations that took `seconds` each; returns whether these show that times have changed. Invalid times are
    /// ignored.
    pub fn add(&mut self, size: u32, seconds: f64, n_iterations: u32) -> bool {
        if size == 0 || !seconds.is_finite() || seconds <= 0.0 {
            return false;
        }
        self.elapsed_s += seconds * f64::from(n_iterations);
        if self.doubt(size).is_some() {
            // What was measured before says less than the first iteration now.
            self.sizes.remove(&size);
        }
        let times = self.sizes.entry(size).or_default();
        (times.level, times.until_s) = (self.level, self.elapsed_s);
        if times.seconds.len() == N_KEPT {
            times.seconds.pop_front();
        }
        times.seconds.push_back(seconds);
        let Some(change) = change(&times.seconds) else { return false };
        times.seconds.drain(..times.seconds.len() - N_NEWEST);
        self.level *= change;
        self.largest = self.largest.max(change).max(1.0 / change);
        times.level = self.level;
        true
    }

    /// Sizes with enough measurements, the smallest first.
    pub fn seen(&self) -> Vec<SizeMeasurement> {
        let enough = self.sizes.iter().filter(|(_, times)| N_LEAST <= times.seconds.len());
        enough.map(|(size, times)| self.summary(*size, times)).collect()
    }

    /// Time of an iteration at a size, if it was measured often enough.
    pub fn at(&self, size: u32) -> Option<Estimate> {
        let times = self.sizes.get(&size).filter(|times| N_LEAST <= times.seconds.len())?;
        let SizeMeasurement { seconds, error_s, .. } = self.summary(size, times);
        Some(Estimate::around(seconds, error_s))
    }

    /// Returns whether a size was measured often enough, and nothing has changed since.
    pub fn is_known(&self, size: u32) -> bool {
        let times = self.sizes.get(&size).filter(|times| N_LEAST <= times.seconds.len());
        times.is_some() && self.doubt(size).is_none()
    }

    /// Returns between which factors the time of a size may have changed since it was measured, if it may.
    fn doubt(&self, size: u32) -> Option<(f64, f64)> {
        let times = self.sizes.get(&size)?;
        let change = self.level / times.level;
        if is_change(change) {
            return Some((change.min(1.0), change.max(1.0)));
        }
        let age_s = self.elapsed_s - times.until_s;
        let is_old = is_change(self.largest) && OLD_S.max(OLD_SHARE * self.elapsed_s) < age_s;
        is_old.then_some((1.0 / self.largest, 1.0))
    }

    #[expect(clippy::cast_precision_loss, reason = "at most `N_KEPT`")]
    fn summary(&self, size: u32, times: &Times) -> SizeMeasurement {
        let seconds = median(times.seconds.iter().copied()).unwrap_or(0.0);
        let deviation = deviation(&times.seconds, seconds);
        let error_s = 2.0 * MEDIAN_FACTOR * deviation / (times.seconds.len() as f64).sqrt();
        let n = times.seconds.len();
        let least = if N_VARIATION <= n { ERROR_SHARE_MIN } else { ERROR_SHARE_UNKNOWN / n as f64 };
        let error_s = error_s.max(least * seconds);
        let Some((least, most)) = self.doubt(size) else {
            return SizeMeasurement { size, seconds, error_s };
        };
        let (low, high) = (least * (seconds - error_s), most * (seconds + error_s));
        SizeMeasurement { size, seconds: f64::midpoint(low, high), error_s: (high - low) / 2.0 }
    }
}

fn is_change(ratio: f64) -> bool {
    CHANGE_MIN < ratio.max(1.0 / ratio)
}

fn deviation(seconds: &VecDeque<f64>, median_s: f64) -> f64 {
    DEVIATIONS * median(seconds.iter().map(|one| (one - median_s).abs())).unwrap_or(0.0)
}

/// Ratio of the newest times to those before, if it is larger than what they vary by.
fn change(seconds: &VecDeque<f64>) -> Option<f64> {
    let n_before = seconds.len().checked_sub(N_NEWEST).filter(|n_before| N_NEWEST <= *n_before)?;
    let before: VecDeque<f64> = seconds.range(..n_before).copied().collect();
    let known_s = median(before.iter().copied())?;
    let newest_s = median(seconds.range(n_before..).copied())?;
    let is_large = CHANGE_DEVIATIONS * deviation(&before, known_s) < (newest_s - known_s).abs();
    Some(newest_s / known_s).filter(|ratio| is_large && is_change(*ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: &[f64], expected: Option<(f64, f64)>) {
        let mut history = History::default();
        for seconds in seconds {
            history.add(4, *seconds, 1);
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
        check(&[1.0, f64::NAN, -1.0, 1.0], Some((1.0, 0.1)));
        check(&[f64::NAN], None);
        let mut many = vec![5.0; 100];
        many.extend([2.0; N_KEPT]);
        check(&many, Some((2.0, 0.02)));
    }

    #[test]
    fn a_change_at_one_size_makes_others_uncertain_until_it_is_over() {
        let mut history = History::default();
        let add = |history: &mut History, size, seconds: f64, n: usize| {
            (0..n).filter(|_| history.add(size, seconds, 1)).count()
        };
        assert_eq!(add(&mut history, 2, 0.02, 10), 0);
        assert_eq!(add(&mut history, 4, 0.01, 10), 0);
        assert_eq!(add(&mut history, 4, 0.02, 10), 1);
        let of_two = |history: &History| {
            let seen = history.seen()[0];
            (seen.seconds - seen.error_s, seen.seconds + seen.error_s)
        };
        let (low, high) = of_two(&history);
        assert!((low - 0.0198).abs() < 1e-9 && (high - 0.0404).abs() < 1e-9, "{low} to {high}");
        assert_eq!((history.is_known(2), history.is_known(4)), (false, true));
        assert_eq!(add(&mut history, 4, 0.01, 10), 1);
        assert!(history.is_known(2));
        assert!((of_two(&history).1 - 0.0202).abs() < 1e-9);
    }
}
