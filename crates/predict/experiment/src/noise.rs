//! Noise of a machine: a fixed piece of work (the calibration) is timed between the runs.

use serde::{Deserialize, Serialize};

/// Value of `median_above` from which other work on the machine disturbs the runs so much that the user is
/// warned.
const SPREAD_HIGH: f64 = 0.1;

/// Statistics of the times of the calibration work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Number of times.
    pub n: usize,
    /// Shortest time, in seconds.
    pub fastest_s: f64,
    /// Distance of the median from the shortest time, relative to the shortest.
    pub median_above: f64,
    /// Distance of the 90th percentile from the shortest time, relative to the shortest.
    pub most_above: f64,
}

impl Noise {
    /// Computes the statistics; `None` without valid times.
    pub fn of(times_s: &[f64]) -> Option<Self> {
        let mut sorted = times_s.to_vec();
        sorted.retain(|time_s| time_s.is_finite() && 0.0 < *time_s);
        sorted.sort_unstable_by(f64::total_cmp);
        let fastest_s = *sorted.first()?;
        let above = |idx: usize| sorted[idx] / fastest_s - 1.0;
        let n = sorted.len();
        Some(Self {
            n,
            fastest_s,
            median_above: above((n - 1) / 2),
            most_above: above((n - 1) * 9 / 10),
        })
    }

    /// Returns whether the noise disturbs measurements.
    pub fn is_high(&self) -> bool {
        SPREAD_HIGH < self.median_above
    }

    /// Returns advice for the user when the noise is high.
    pub fn warning(&self) -> Option<String> {
        self.is_high().then(|| {
            format!(
                "timings are noisy: their median is {:.0} % above the fastest time, and their 90th percentile {:.0} %; \
                 use more repetitions, or fewer ranks than cores, or a machine of your own",
                100.0 * self.median_above,
                100.0 * self.most_above
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(times_s: &[f64], expected: Option<(f64, f64)>, is_high: bool) {
        let noise = Noise::of(times_s);
        assert_eq!(noise.map(|noise| (noise.median_above, noise.most_above)), expected);
        assert_eq!(noise.and_then(|noise| noise.warning()).is_some(), is_high);
    }

    #[test]
    fn noise_is_what_is_above_the_fastest() {
        check(&[], None, false);
        check(&[f64::NAN], None, false);
        check(&[2.0], Some((0.0, 0.0)), false);
        check(&[2.0, 2.0, 2.0, 4.0], Some((0.0, 0.0)), false);
        check(&[4.0, 2.0, 3.0, 8.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 6.0], Some((0.5, 2.0)), true);
    }
}
