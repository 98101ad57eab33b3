//! For how long a program stops to change its size: expected from what moves and who starts, corrected by what was measured.

use super::Estimate;
use std::collections::VecDeque;

/// Changes that correct the next expectation.
const N_KEPT: usize = 5;
/// A first change may cost so many times more, or less, than expected: libraries and networks differ.
const UNKNOWN: f64 = 4.0;
/// Later ones at least so many times.
const KNOWN: f64 = 1.25;

/// What has to be done for a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Processes that are started.
    pub n_new: u32,
    /// Processes that leave.
    pub n_leaving: u32,
    /// Bytes that move between processes.
    pub bytes_moved: u64,
}

/// What changes cost.
///
/// ```
/// use resizing::payoff::{Change, Cost};
///
/// let mut cost = Cost::default();
/// let change = Change { n_new: 4, n_leaving: 0, bytes_moved: 200_000_000 };
/// let expected = cost.of(&change);
/// cost.learn(&change, 3.0 * expected.value);
/// assert!((cost.of(&change).value - 3.0 * expected.value).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Seconds of any change: to agree, to connect.
    pub change_s: f64,
    /// Seconds for each process that is started.
    pub start_s: f64,
    /// Seconds for each process that leaves.
    pub leave_s: f64,
    /// Seconds for each byte that moves.
    pub byte_s: f64,
    /// How many times the expected seconds the last changes took, the newest last.
    measured: VecDeque<f64>,
}

impl Default for Cost {
    /// Of a node of today: 20 ms, 20 ms a process, 1 GB/s. A first measurement corrects it.
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
    /// Seconds that a change takes.
    pub fn of(&self, change: &Change) -> Estimate {
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

    /// Corrects what will be expected by a change that stopped the program for so long.
    pub fn learn(&mut self, change: &Change, seconds: f64) {
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
    fn expected(&self, change: &Change) -> f64 {
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
        let change = Change { n_new: 2, n_leaving: 0, bytes_moved: 40_000_000 };
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
