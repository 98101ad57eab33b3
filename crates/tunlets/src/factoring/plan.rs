//! What factoring would set, and why.

use models::master_worker::partition::{Spread, first_divisor, later_divisor};

/// `x0` never below this: see [`super`].
const FIRST_DIVISOR_MIN: f64 = 2.0;

/// The shares for what was measured.
pub(super) struct Plan {
    pub(super) shares: [f64; 3],
    pub(super) spread: Spread,
    divisors: [f64; 2],
    n_workers: usize,
}

impl Plan {
    /// DAF, with `x0` not below 2.
    pub(super) fn new(spread: Spread, n_workers: usize) -> Self {
        let n = n_workers as f64;
        let divisors = [first_divisor(spread, n).max(FIRST_DIVISOR_MIN), later_divisor(spread, n)];
        let shares = [divisors[0], divisors[1], divisors[1]].map(|divisor| 1.0 / divisor);
        Self { shares, spread, divisors, n_workers }
    }

    pub(super) fn reason(&self) -> String {
        format!(
            "sigma/mu per task is {:.2} with {} workers: x0 = {:.2}, x1 = {:.2}",
            self.spread.relative(),
            self.n_workers,
            self.divisors[0],
            self.divisors[1]
        )
    }
}
