//! Latency and cost per byte estimated from observed messages: `time = latency + cost * bytes`.
//!
//! Least squares over a window of the newest messages. Messages of one size cannot separate the two
//! parameters: then an *anchor*, an empty message with a typical latency, is added as one more sample.
//!
//! # Invariants
//! - Neither parameter is ever negative: where the fit makes one negative, it is set to 0 and the other
//!   explains all time.

use std::collections::VecDeque;

/// Sizes that differ by less than this share count as equal.
const SIZES_DIFFER: f64 = 0.05;

/// A line fitted through the newest messages.
#[derive(Clone, Debug)]
pub struct TransferLine {
    anchor_s: f64,
    n_max: usize,
    messages: VecDeque<(f64, f64)>,
}

/// Linear cost of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Latency, in seconds.
    pub latency_s: f64,
    /// Cost of a byte, in seconds.
    pub byte_s: f64,
}

impl Cost {
    /// Returns the time of a message of this size, in seconds.
    pub fn of(&self, bytes: f64) -> f64 {
        self.latency_s + self.byte_s * bytes
    }
}

impl TransferLine {
    /// Creates a window without messages; `anchor_s` is a typical latency, in seconds.
    pub fn new(anchor_s: f64, n_messages_max: usize) -> Self {
        Self { anchor_s, n_max: n_messages_max.max(1), messages: VecDeque::new() }
    }

    /// Adds the time that a message of this size took. Negative times, which come from unsynchronized
    /// clocks, are ignored.
    pub fn add(&mut self, bytes: f64, time_s: f64) {
        if !(bytes.is_finite() && 0.0 <= time_s && time_s.is_finite()) {
            return;
        }
        if self.messages.len() == self.n_max {
            self.messages.pop_front();
        }
        self.messages.push_back((bytes, time_s));
    }

    /// Returns the number of messages in the window.
    pub fn n_messages(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether sizes differ enough to separate latency from cost per byte.
    pub fn is_told_apart(&self) -> bool {
        let sizes = self.messages.iter().map(|(bytes, _)| *bytes);
        let smallest = sizes.clone().fold(f64::INFINITY, f64::min);
        (1.0 + SIZES_DIFFER) * smallest < sizes.fold(0.0, f64::max)
    }

    /// Returns the fitted line; the anchor alone when there are no messages.
    pub fn cost(&self) -> Cost {
        let anchor = (!self.is_told_apart()).then_some((0.0, self.anchor_s));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            self.messages.iter().chain(&anchor).map(|(bytes, time_s)| of(*bytes, *time_s)).sum()
        };
        let n = sum(&|_, _| 1.0);
        let (mean_bytes, mean_s) = (sum(&|bytes, _| bytes) / n, sum(&|_, time_s| time_s) / n);
        let spread = sum(&|bytes, _| (bytes - mean_bytes).powi(2));
        let together = sum(&|bytes, time_s| (bytes - mean_bytes) * (time_s - mean_s));
        let slope = if spread > 0.0 { (together / spread).max(0.0) } else { 0.0 };
        let latency_s = mean_s - slope * mean_bytes;
        if latency_s < 0.0 {
            return Cost { latency_s: 0.0, byte_s: mean_s / mean_bytes };
        }
        Cost { latency_s, byte_s: slope }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(messages: &[(f64, f64)], latency_s: f64, byte_s: f64) {
        let mut transfer = TransferLine::new(1e-4, 3);
        for (bytes, time_s) in messages {
            transfer.add(*bytes, *time_s);
        }
        let cost = transfer.cost();
        assert!((cost.latency_s - latency_s).abs() < 1e-12, "{cost:?}");
        assert!((cost.byte_s - byte_s).abs() < 1e-14, "{cost:?}");
    }

    #[test]
    fn latency_and_cost_per_byte_are_told_apart() {
        check(&[], 1e-4, 0.0);
        check(&[(1000.0, 2e-4), (2000.0, 3e-4)], 1e-4, 1e-7);
        check(&[(1000.0, 2e-4), (1000.0, 2e-4)], 1e-4, 1e-7);
        check(&[(1000.0, -1.0), (1000.0, f64::NAN)], 1e-4, 0.0);
        check(&[(9.0, 9.0), (1e3, 2e-4), (2e3, 3e-4), (3e3, 4e-4)], 1e-4, 1e-7);
        check(&[(1000.0, 1e-5), (2000.0, 1e-5)], 1e-5, 0.0);
        check(&[(1000.0, 1e-5), (2000.0, 5e-5)], 0.0, 3e-5 / 1500.0);
        check(&[(1000.0, 2e-5), (1010.0, 2e-5)], 1.4e-4 / 3.0, 0.0);
    }

    proptest! {
        #[test]
        fn neither_is_negative(messages in prop::collection::vec((0.0..1e6, 0.0..1.0), 0..20)) {
            let mut transfer = TransferLine::new(1e-5, 10);
            for (bytes, time_s) in messages {
                transfer.add(bytes, time_s);
            }
            let cost = transfer.cost();
            prop_assert!(0.0 <= cost.latency_s && 0.0 <= cost.byte_s);
            prop_assert!(cost.of(100.0).is_finite());
        }
    }
}
