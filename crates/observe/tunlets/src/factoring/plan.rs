//! Shares that factoring would set, with the reason.

use chunking::Spread;
use chunking::adjusting::{first_divisor, later_divisor};

/// Lower limit of `x0`: see [`super`].
const FIRST_DIVISOR_MIN: f64 = 2.0;

/// Extent of factoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FactoringExtent {
    /// Batch after batch, down to the smallest chunk.
    #[default]
    Whole,
    /// The rest after two batches is dealt at once.
    TwoBatches,
    /// The rest after one batch is dealt at once.
    OneBatch,
}

impl FactoringExtent {
    pub(super) const ALL: [Self; 3] = [Self::Whole, Self::TwoBatches, Self::OneBatch];
}

/// Measured spread, and the divisors computed from it.
pub(super) struct FactoringPlan {
    pub(super) spread: Spread,
    divisors: [f64; 2],
    n_workers: usize,
}

impl FactoringPlan {
    /// Computes the divisors of DAF, with `x0` not below 2.
    pub(super) fn new(spread: Spread, n_workers: usize) -> Self {
        let n = n_workers as f64;
        let divisors = [first_divisor(spread, n).max(FIRST_DIVISOR_MIN), later_divisor(spread, n)];
        Self { spread, divisors, n_workers }
    }

    /// Returns `F0`, `F1` and `F2`.
    pub(super) fn shares_of(&self, kind: FactoringExtent) -> [f64; 3] {
        let [first, later] = self.divisors.map(|divisor| 1.0 / divisor);
        match kind {
            FactoringExtent::Whole => [first, later, later],
            FactoringExtent::TwoBatches => [first, later, 1.0],
            FactoringExtent::OneBatch => [first, 1.0, 1.0],
        }
    }

    pub(super) fn reason(&self, kind: FactoringExtent) -> String {
        let rest = match kind {
            FactoringExtent::Whole => "",
            FactoringExtent::TwoBatches => ", the rest at once after two batches",
            FactoringExtent::OneBatch => ", the rest at once after one batch",
        };
        format!(
            "sigma/mu per task is {:.2} with {} workers: x0 = {:.2}, x1 = {:.2}{rest}",
            self.spread.relative(),
            self.n_workers,
            self.divisors[0],
            self.divisors[1]
        )
    }
}

/// Returns whether shares are equal up to rounding.
pub(super) fn is_same(some: [f64; 3], others: [f64; 3]) -> bool {
    some.iter().zip(others).all(|(some, other)| (some - other).abs() < 1e-9)
}
