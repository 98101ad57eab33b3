//! Time that a job still needs on each number of nodes: what more nodes bring it, and what fewer cost it.

use crate::payoff::Estimate;

/// Difference of two times that count as one, as a share of them.
const AS_FAST: f64 = 0.01;
/// Largest error of a measurement that is allowed for in that.
const DOUBT: f64 = 0.02;

/// Time left of a job by its number of nodes, from its measured curve and the work that it has left.
///
/// ```
/// use resize_plan::payoff::Estimate;
/// use resize_plan::queue::Outlook;
///
/// let hours = |n: u32| (n, Estimate::around(3600.0 / f64::from(n), 10.0));
/// let outlook = Outlook::new([1, 2, 4].map(hours));
/// assert_eq!(outlook.left_s(3).map(|left| left.value), Some(1350.0));
/// assert_eq!(outlook.left_s(8), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Time left in seconds, by number of nodes, the smallest first.
    left: Vec<(u32, Estimate)>,
    is_fastest: bool,
}

impl Outlook {
    /// Outlook with the time left, in seconds, on some numbers of nodes. Without any, the job is being measured.
    pub fn new(left: impl IntoIterator<Item = (u32, Estimate)>) -> Self {
        let is_time = |left: &Estimate| {
            [left.low, left.value, left.high].iter().all(|s| s.is_finite() && 0.0 <= *s)
        };
        let mut left: Vec<_> = left.into_iter().filter(|(_, left)| is_time(left)).collect();
        left.sort_by_key(|(n_nodes, _)| *n_nodes);
        left.dedup_by_key(|(n_nodes, _)| *n_nodes);
        Self { left, is_fastest: false }
    }

    /// The same outlook of a job that has judged that no size is faster than its own.
    #[must_use]
    pub fn at_its_fastest(self) -> Self {
        Self { is_fastest: true, ..self }
    }

    /// True if the job's own judge says that no size is faster.
    pub fn is_fastest(&self) -> bool {
        self.is_fastest
    }

    /// Time left with `n_nodes`, in seconds; between known numbers of nodes along a line, beyond them `None`.
    pub fn left_s(&self, n_nodes: u32) -> Option<Estimate> {
        let above = self.left.iter().position(|(known, _)| n_nodes <= *known)?;
        let (high_n, high) = self.left[above];
        if high_n == n_nodes {
            return Some(high);
        }
        let (low_n, low) = *self.left.get(above.checked_sub(1)?)?;
        let share = f64::from(n_nodes - low_n) / f64::from(high_n - low_n);
        let between = |low: f64, high: f64| low + share * (high - low);
        Some(Estimate {
            value: between(low.value, high.value),
            low: between(low.low, high.low),
            high: between(low.high, high.high),
        })
    }

    /// Time saved by `to` nodes instead of `from`, in seconds: negative where they are slower.
    pub(super) fn saved_s(&self, from: u32, to: u32) -> Option<f64> {
        Some(self.left_s(from)?.value - self.left_s(to)?.value)
    }

    /// True if `to` nodes may be no faster than `from`, for all that is known.
    pub(super) fn is_unsure(&self, from: u32, to: u32) -> bool {
        let (Some(now), Some(then)) = (self.left_s(from), self.left_s(to)) else { return true };
        now.value <= then.high
    }

    /// Fewest nodes, if below `from`, with which the job ends as early as it can with `least` nodes or more. The change costs
    /// `price_s`.
    pub(super) fn as_fast_below(&self, from: u32, price_s: f64, least: u32) -> Option<u32> {
        let now_s = self.left_s(from)?.value;
        // Larger sizes count as well: else a job would give its nodes back in small steps that cost nearly nothing each.
        let others = || self.left.iter().filter(|(n, _)| least <= *n && *n != from);
        let best_s = others().map(|(_, then)| then.value + price_s).fold(now_s, f64::min);
        let is_as_fast = |then: &Estimate| {
            then.low.max(then.value * (1.0 - DOUBT)) + price_s <= best_s * (1.0 + AS_FAST)
        };
        others().find(|(n, then)| *n < from && is_as_fast(then)).map(|(n, _)| *n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(left: &[(u32, f64, f64)]) -> Outlook {
        Outlook::new(left.iter().map(|(n, value, error)| (*n, Estimate::around(*value, *error))))
    }

    #[test]
    fn what_is_no_time_does_not_count() {
        let odd = outlook(&[(2, f64::NAN, 0.0), (4, 5.0, 0.0), (1, 9.0, 1.0), (4, 6.0, 0.0)]);
        assert_eq!(odd.left_s(1).map(|left| left.high), Some(10.0));
        assert_eq!(odd.left_s(4).map(|left| left.value), Some(5.0));
        assert_eq!(odd.left_s(0), None);
    }

    #[test]
    fn nodes_that_bring_nothing_are_known() {
        let slower = outlook(&[(1, 100.0, 5.0), (2, 90.0, 5.0), (4, 400.0, 5.0)]);
        assert_eq!(slower.as_fast_below(4, 10.0, 1), Some(2));
        assert_eq!(slower.as_fast_below(4, 10.0, 3), None);
        assert_eq!(slower.as_fast_below(4, 330.0, 1), None);
        // As fast as two, but four are faster.
        let steps = outlook(&[(1, 100.0, 5.0), (2, 100.0, 5.0), (4, 50.0, 5.0)]);
        assert_eq!(steps.as_fast_below(2, 0.0, 1), None);
        assert!(slower.is_unsure(1, 4) && !slower.is_unsure(4, 2));
        let same = |left_s, error_s| outlook(&[(1, left_s, error_s), (2, 100.0, 5.0)]);
        assert_eq!(same(100.9, 0.0).as_fast_below(2, 0.0, 1), Some(1));
        assert_eq!(same(100.9, 0.0).as_fast_below(2, 0.2, 1), None);
        assert_eq!(same(102.9, 5.0).as_fast_below(2, 0.0, 1), Some(1));
        assert_eq!(same(103.1, 5.0).as_fast_below(2, 0.0, 1), None);
    }
}
