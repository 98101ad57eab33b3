//! Durations of many tasks in little room, for medians and other quantiles.
//!
//! A duration of d ms is counted in the class floor(8 log2(d + 1)), so that a quantile is known within 5 %.
//!
//! # Invariants
//! - At most [`N_CLASSES`] classes, whatever is counted; histograms of several nodes can be added.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most classes: durations up to 2^48 ms.
const N_CLASSES: u16 = 8 * 48;

/// Durations by class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u16, u64)>", into = "Vec<(u16, u64)>")]
pub struct DurationHistogram {
    /// Number of durations in each class that has some.
    classes: BTreeMap<u16, u64>,
}

impl DurationHistogram {
    /// Counts a duration.
    pub fn add(&mut self, ms: u64) {
        *self.classes.entry(class_of(ms)).or_default() += 1;
    }

    /// Counts all durations of another histogram.
    pub fn add_all(&mut self, other: &Self) {
        for (class, n) in &other.classes {
            let own = self.classes.entry((*class).min(N_CLASSES - 1)).or_default();
            *own = own.saturating_add(*n);
        }
    }

    /// Number of durations.
    pub fn n(&self) -> u64 {
        self.classes.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Duration in ms that this share of all durations does not exceed, within 5 %; `None` without durations.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let wanted = share * self.n() as f64;
        let mut n_until = 0;
        let class = self.classes.iter().find(|(_, n)| {
            n_until += **n;
            wanted <= n_until as f64
        });
        class.or(self.classes.last_key_value()).map(|(class, _)| middle_ms(*class))
    }

    /// Sum of the durations in ms, within 5 %.
    pub fn sum_ms(&self) -> f64 {
        self.classes.iter().map(|(class, n)| middle_ms(*class) * *n as f64).sum()
    }
}

// As pairs: in a message whose kind is one of its fields, serde cannot read a map whose keys are numbers.
impl From<Vec<(u16, u64)>> for DurationHistogram {
    fn from(pairs: Vec<(u16, u64)>) -> Self {
        let mut made = Self::default();
        for (class, n) in pairs {
            let own = made.classes.entry(class.min(N_CLASSES - 1)).or_default();
            *own = own.saturating_add(n);
        }
        made
    }
}

impl From<DurationHistogram> for Vec<(u16, u64)> {
    fn from(durations: DurationHistogram) -> Self {
        durations.classes.into_iter().collect()
    }
}

fn class_of(ms: u64) -> u16 {
    let class = (8.0 * (ms as f64 + 1.0).log2()).floor();
    // A floating-point number becomes the nearest number of the type.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is from 0 to 512"
    )]
    let class = class as u16;
    class.min(N_CLASSES - 1)
}

/// Geometric middle of a class.
fn middle_ms(class: u16) -> f64 {
    ((f64::from(class) + 0.5) / 8.0).exp2() - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quantile_is_known_within_5_percent() {
        let mut durations = DurationHistogram::default();
        assert_eq!(durations.quantile_ms(0.5), None);
        (1..=1000).for_each(|ms| durations.add(10 * ms));
        for (share, expected) in [(0.0, 10.0), (0.5, 5000.0), (0.9, 9000.0), (1.0, 10_000.0)] {
            let found = durations.quantile_ms(share).unwrap();
            assert!((found / expected - 1.0).abs() < 0.08, "{share}: {found}");
        }
        assert_eq!(durations.n(), 1000);
        let mean = durations.sum_ms() / 1000.0;
        assert!((mean / 5005.0 - 1.0).abs() < 0.05, "{mean}");
    }

    proptest! {
        #[test]
        fn parts_add_up(all in proptest::collection::vec(any::<u64>(), 0..50), at in 0usize..50) {
            let of = |part: &[u64]| {
                let mut made = DurationHistogram::default();
                part.iter().for_each(|ms| made.add(*ms));
                made
            };
            let (first, rest) = all.split_at(at.min(all.len()));
            let mut sum = of(first);
            sum.add_all(&of(rest));
            prop_assert_eq!(&sum, &of(&all));
            let json = serde_json::to_string(&sum).unwrap();
            prop_assert_eq!(serde_json::from_str::<DurationHistogram>(&json).unwrap(), sum);
        }
    }
}
