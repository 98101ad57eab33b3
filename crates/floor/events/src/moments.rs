//! Running statistics of a series of numbers that are not kept.

use serde::{Deserialize, Serialize};

/// Running statistics: count, mean, variance and extremes; numbers can be added and sums merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Count of numbers.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub squares: f64,
    /// Smallest number.
    pub min: f64,
    /// Largest number.
    pub max: f64,
}

impl Moments {
    /// Adds a number (Welford's method).
    pub fn add(&mut self, number: f64) {
        let one = Self { n: 1, mean: number, squares: 0.0, min: number, max: number };
        self.merge(&one);
    }

    /// Adds the numbers of `other` (Chan's method).
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = *other;
            return;
        }
        let (mine, theirs) = (self.n as f64, other.n as f64);
        let all = mine + theirs;
        let apart = other.mean - self.mean;
        self.mean += apart * theirs / all;
        self.squares += other.squares + apart * apart * mine * theirs / all;
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the statistics of all numbers multiplied by `factor`, which is not negative.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            n: self.n,
            mean: self.mean * factor,
            squares: self.squares * factor * factor,
            min: self.min * factor,
            max: self.max * factor,
        }
    }

    /// Sum of the numbers.
    pub fn sum(&self) -> f64 {
        self.mean * self.n as f64
    }

    /// Population variance.
    pub fn variance(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.squares / self.n as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Moments {
        let mut moments = Moments::default();
        numbers.iter().for_each(|number| moments.add(*number));
        moments
    }

    #[track_caller]
    fn check(first: &[f64], second: &[f64]) {
        let mut merged = of(first);
        merged.merge(&of(second));
        let whole = of(&[first, second].concat());
        assert_eq!((merged.n, merged.min, merged.max), (whole.n, whole.min, whole.max));
        assert!((merged.sum() - whole.sum()).abs() < 1e-9, "{merged:?} {whole:?}");
        assert!((merged.variance() - whole.variance()).abs() < 1e-9, "{merged:?} {whole:?}");
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        check(&[], &[]);
        check(&[], &[3.0]);
        check(&[2.0, 4.0], &[]);
        check(&[2.0, 4.0, 4.0], &[4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).variance() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_factor_changes_them_as_it_changes_each_number() {
        let scaled = of(&[1.0, 2.0, 6.0]).scaled(0.5);
        let expected = of(&[0.5, 1.0, 3.0]);
        assert_eq!((scaled.n, scaled.min, scaled.max), (3, 0.5, 3.0));
        assert!((scaled.sum() - expected.sum()).abs() < 1e-12);
        assert!((scaled.variance() - expected.variance()).abs() < 1e-12);
    }
}
