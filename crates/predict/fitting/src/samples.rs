//! Reduces the repetitions at a point to one value, and counts those left out.
//!
//! Noise on a machine mostly adds time, so the distance of a repetition is measured from the fastest one.

use crate::measurements::MeasuredPoint;
use serde::{Deserialize, Serialize};
use statistics::median;

/// Rule that makes one value of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleRule {
    /// Mean of the values at most this share above the smallest; the source's rule, with 0.3.
    NearMinimum(f64),
    /// Mean of all values.
    Mean,
    /// Median of all values.
    Median,
    /// Smallest value.
    Minimum,
}

impl Default for SampleRule {
    fn default() -> Self {
        Self::NearMinimum(0.3)
    }
}

/// Value and scatter of the repetitions at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointValue {
    /// The value.
    pub value: f64,
    /// Standard deviation of the kept repetitions, as a share of the value.
    pub spread: f64,
    /// Number of repetitions kept.
    pub n_kept: usize,
    /// Number of repetitions left out.
    pub n_dropped: usize,
}

/// Distance from the smallest repetition up to which another still counts as noise, in standard deviations.
const N_DEVIATIONS: f64 = 6.0;
/// Where noise would reach further than this share, most repetitions are disturbed, and the fast ones tell more.
const NOISE_MOST: f64 = 0.9;
/// Expected distance of the median of five normal samples from the smallest, in standard deviations.
const MEDIAN_ABOVE_SMALLEST: f64 = 1.16;

impl SampleRule {
    /// Adapts the rule to these points: where most of them scatter so much that it would drop mere noise,
    /// it allows more, as long as that can be noise.
    #[must_use]
    pub fn widened(self, points: &[MeasuredPoint]) -> Self {
        let Self::NearMinimum(share) = self else { return self };
        let distances = points.iter().filter_map(|point| distance(&point.values));
        let Some(distance) = median(distances) else { return self };
        let noise = N_DEVIATIONS * distance / MEDIAN_ABOVE_SMALLEST;
        if NOISE_MOST < noise { self } else { Self::NearMinimum(share.max(noise)) }
    }

    /// Returns the value of the repetitions; `None` where none is finite.
    pub fn point_value(self, values: &[f64]) -> Option<PointValue> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let smallest = *sorted.first()?;
        if let Self::NearMinimum(share) = self {
            sorted.retain(|value| *value <= smallest + share * smallest.abs());
        }
        let value = match self {
            Self::NearMinimum(_) | Self::Mean => mean(&sorted),
            Self::Median => median(sorted.iter().copied())?,
            Self::Minimum => smallest,
        };
        let spread = if value == 0.0 { 0.0 } else { deviation(&sorted) / value.abs() };
        let n_kept = sorted.len();
        Some(PointValue { value, spread, n_kept, n_dropped: values.len() - n_kept })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the relative distance of the median from the smallest value; `None` where it says little.
fn distance(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let smallest = *sorted.first()?;
    let median = median(sorted.iter().copied()).filter(|_| 3 <= sorted.len() && 0.0 < smallest)?;
    Some(median / smallest - 1.0)
}

fn deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: SampleRule, values: &[f64], expected: Option<(f64, usize)>) {
        let level = rule.point_value(values);
        assert_eq!(level.map(|level| (level.value, level.n_dropped)), expected);
    }

    #[test]
    fn each_rule_takes_its_own() {
        let values = [10.0, 13.0, 14.0, 11.0, 100.0];
        check(SampleRule::default(), &values, Some((34.0 / 3.0, 2)));
        check(SampleRule::Mean, &values, Some((29.6, 0)));
        check(SampleRule::Median, &values, Some((13.0, 0)));
        check(SampleRule::Median, &values[..4], Some((12.0, 0)));
        check(SampleRule::Minimum, &values, Some((10.0, 0)));
    }

    #[test]
    fn what_is_no_number_is_dropped() {
        check(SampleRule::Mean, &[1.0, f64::NAN, 3.0], Some((2.0, 1)));
        check(SampleRule::Mean, &[f64::NAN], None);
        check(SampleRule::default(), &[], None);
        check(SampleRule::default(), &[-10.0, -8.0, -2.0], Some((-9.0, 1)));
    }
}
