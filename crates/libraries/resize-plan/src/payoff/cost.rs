//! Time that a program stops to change its size: predicted from the data that move and the processes that start,
//! corrected by measurements.

use super::Estimate;
use std::collections::VecDeque;

/// Number of past changes that correct the next prediction.
const N_KEPT: usize = 5;
/// Factor by which the first change may cost more, or less, than predicted: libraries and networks differ.
const UNKNOWN: f64 = 4.0;
/// Smallest such factor for later changes.
const KNOWN: f64 = 1.25;

/// Amount of work in a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostFactors {
    /// Number of processes to start.
    pub n_new: u32,
    /// Number of processes that leave.
    pub n_leaving: u32,
    /// Bytes that move between processes.
    pub bytes_moved: u64,
}

/// Cost model of changes.
///
/// ```
/// use resize_plan::payoff::{CostFactors, Cost};
///
/// let mut cost = Cost::default();
/// let change = CostFactors { n_new: 4, n_leaving: 0, bytes_moved: 200_000_000 };
/// let expected = cost.of(&change);
/// cost.learn(&change, 3.0 * expected.value);
/// assert!((cost.of(&change).value - 3.0 * expected.value).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Fixed cost of any change, for agreeing and connecting, in seconds.
    pub change_s: f64,
    /// Cost of each process that is started, in seconds.
    pub start_s: f64,
    /// Cost of each process that leaves, in seconds.
    pub leave_s: f64,
    /// Cost of each byte that moves, in seconds.
    pub byte_s: f64,
    /// Ratios of measured to predicted time of the last changes, the newest last.
    measured: VecDeque<f64>,
}

impl Default for Cost {
    /// Typical values of a current node: 20 ms, 20 ms per process, 1 GB/s. The first measurement corrects them.
    fn default() -> Self {
        Self {
            change_s: 0.02,
            start_s: 0.02,
            leave_s: 0.001,
            byte_s: 1e-9,
            measured: VecDeque::new(),
        }
    }
}

impl Cost {
    /// Predicted time of a change, in seconds.
    pub fn of(&self, change: &CostFactors) -> Estimate {
        let expected = self.expected(change);
        let n = u32::try_from(self.measured.len()).unwrap_or(u32::MAX);
        if n == 0 {
            return Estimate { value: expected, low: expected / UNKNOWN, high: expected * UNKNOWN };
        }
        let mean = self.measured.iter().sum::<f64>() / f64::from(n);
        let most = self.measured.iter().copied().fold(mean * KNOWN, f64::max);
        let least = self.measured.iter().copied().fold(mean / KNOWN, f64::min);
        Estimate { value: expected * mean, low: expected * least, high: expected * most }
    }

    /// Corrects future predictions by a change that stopped the program for `seconds`.
    pub fn learn(&mut self, change: &CostFactors, seconds: f64) {
        let times = seconds / self.expected(change);
        if !times.is_finite() || times < 0.0 {
            return;
        }
        if self.measured.len() == N_KEPT {
            self.measured.pop_front();
        }
        self.measured.push_back(times);
    }

    #[expect(clippy::cast_precision_loss, reason = "fewer bytes than 2^53")]
    fn expected(&self, change: &CostFactors) -> f64 {
        self.change_s
            + self.start_s * f64::from(change.n_new)
            + self.leave_s * f64::from(change.n_leaving)
            + self.byte_s * change.bytes_moved as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(measured: &[f64], expected: [f64; 3]) {
        let change = CostFactors { n_new: 2, n_leaving: 0, bytes_moved: 40_000_000 };
        let mut cost = Cost::default();
        for seconds in measured {
            cost.learn(&change, *seconds);
        }
        let found = cost.of(&change);
        for (found, expected) in [found.value, found.low, found.high].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn what_was_measured_corrects_what_is_expected() {
        check(&[], [0.1, 0.025, 0.4]);
        check(&[0.2], [0.2, 0.16, 0.25]);
        check(&[0.2, 0.4], [0.3, 0.2, 0.4]);
        check(&[f64::NAN, -1.0], [0.1, 0.025, 0.4]);
        check(&[9.0, 0.2, 0.2, 0.2, 0.2, 0.2], [0.2, 0.16, 0.25]);
    }
}
