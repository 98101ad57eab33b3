//! The time of messages of one length.

use serde::{Deserialize, Serialize};

/// The median time of messages of one length, and the interval that holds the true median with at least
/// 95 percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Length of the messages, in bytes.
    pub n_bytes: u64,
    /// Median one-way time, in seconds.
    pub median_s: f64,
    /// Lower end of the interval, in seconds.
    pub low_s: f64,
    /// Upper end of the interval, in seconds.
    pub high_s: f64,
    /// Number of measured times.
    pub n_times: u32,
}

/// Returns the sample of these times; `None` without times.
///
/// The interval is between two of the sorted times: the number of times below the true median is
/// binomial, about normal with mean `n / 2` and deviation `sqrt(n) / 2`. No shape is assumed for the times.
#[must_use]
pub fn median_of(n_bytes: u64, times_s: &[f64]) -> Option<Sample> {
    let mut sorted = times_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = u32::try_from(sorted.len()).ok()?;
    let middle = sorted.len() / 2;
    let median_s = *sorted.get(middle)?;
    #[expect(clippy::cast_possible_truncation, reason = "below 2^16 for 32 bits")]
    #[expect(clippy::cast_sign_loss, reason = "a root is not negative")]
    let reach = (0.98 * f64::from(n).sqrt()).ceil() as usize;
    let low_s = sorted[middle.saturating_sub(reach)];
    let high_s = sorted[(middle + reach).min(sorted.len() - 1)];
    Some(Sample { n_bytes, median_s, low_s, high_s, n_times: n })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_middle_of_the_times() {
        let times: Vec<f64> = (0..100).rev().map(f64::from).collect();
        let sample = median_of(8, &times).expect("there are times");
        // The 40th and the 61st of 100 enclose the median with 95.4 percent.
        assert_eq!((sample.low_s, sample.median_s, sample.high_s), (40.0, 50.0, 60.0));
        assert_eq!((sample.n_bytes, sample.n_times), (8, 100));
    }

    #[test]
    fn few_times_make_a_wide_interval() {
        let sample = median_of(0, &[3.0, 1.0, 2.0]).expect("there are times");
        assert_eq!((sample.low_s, sample.median_s, sample.high_s), (1.0, 2.0, 3.0));
        assert_eq!(median_of(0, &[]), None);
    }
}
