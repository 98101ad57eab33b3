//! Time of an iteration as a function of the number of processes, learned from measured sizes.
//!
//! `t(p) = a + b/p + c*p`: the serial part, the parallel part, and the cost of each additional process, none of them
//! negative. The value is the least-squares fit with the fewest terms that it needs. The interval is that of *all* such
//! curves that pass each measurement within its error: it is wide where little is known, and with a single size it
//! reaches from a perfectly parallel program to one that only gets slower.

use super::{Estimate, SizeMeasurement};

const N_TERMS: usize = 3;
/// Number of measurements used for an interval, those nearest in size; with fewer the interval is wider, never wrong.
const N_NEAR: usize = 8;
/// Rounding error, as a share of a time.
const ROUNDING: f64 = 1e-9;
/// Difference below which fits count as equally good.
const TIE: f64 = 1e-6;
/// Factor on the smallest widening of errors that admits a curve, where none passes all measurements.
const WIDENED: f64 = 2.0;
/// Terms that a fit may have, of `a`, `b` and `c`; the first of equally good choices is taken.
const CHOICES: [&[usize]; 7] = [&[1], &[0], &[2], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]];

/// Curve fitted to measured sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    seen: Vec<SizeMeasurement>,
    coefficients: [f64; N_TERMS],
    /// Factor on the measurements' errors, so that there is a curve.
    widened: f64,
}

impl Curve {
    /// Fits a curve to measured sizes; `None` where there is no fit.
    pub fn through(seen: &[SizeMeasurement]) -> Option<Self> {
        let is_time = |seen: &&SizeMeasurement| {
            0 < seen.size && seen.seconds.is_finite() && 0.0 < seen.seconds && 0.0 <= seen.error_s
        };
        let mut seen: Vec<SizeMeasurement> = seen.iter().filter(is_time).copied().collect();
        for one in &mut seen {
            one.error_s = one.error_s.max(ROUNDING * one.seconds);
        }
        let fits = || CHOICES.iter().filter_map(|choice| Some((choice, fit(&seen, choice)?)));
        // Akaike's criterion: an additional term has to reduce the residual by more than it costs.
        let cost = |(choice, found): &(&&[usize], [f64; N_TERMS])| {
            badness(&seen, found) + 2.0 * count(choice)
        };
        let (_, coefficients) =
            fits().reduce(|best, one| if cost(&one) < cost(&best) - TIE { one } else { best })?;
        let least = fits().map(|(_, found)| farthest(&seen, &found)).fold(f64::INFINITY, f64::min);
        let widened = if 1.0 < least { WIDENED * least } else { 1.0 };
        Some(Self { seen, coefficients, widened })
    }

    /// Time of an iteration with `size` processes, in seconds; a measurement takes precedence over the curve.
    pub fn seconds(&self, size: u32) -> Estimate {
        if let Some(seen) = self.seen.iter().find(|seen| seen.size == size) {
            return Estimate::around(seen.seconds, seen.error_s);
        }
        let (low, high) = self.range(size.max(1));
        let value = value(&self.coefficients, size).max(low).min(high);
        Estimate { value, low, high }
    }

    /// Returns the smallest and the largest value at `size` of all curves that pass the measurements: they occur in
    /// corners of the space of coefficients, where three bounds meet.
    fn range(&self, size: u32) -> (f64, f64) {
        // The same measurements bound and are passed: a corner of some that violates others is not a corner.
        let near = self.near(size);
        let bounds = bounds(&near);
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for first in 0..bounds.len() {
            for second in first + 1..bounds.len() {
                for third in second + 1..bounds.len() {
                    let corner = corner([bounds[first], bounds[second], bounds[third]]);
                    let Some(corner) = corner.filter(|corner| passes(corner, &near)) else {
                        continue;
                    };
                    let there = value(&corner, size);
                    (low, high) = (low.min(there), high.max(there));
                }
            }
        }
        (low, high)
    }

    fn near(&self, size: u32) -> Vec<SizeMeasurement> {
        let mut near = self.seen.clone();
        near.sort_by_key(|seen| seen.size.abs_diff(size));
        near.truncate(N_NEAR);
        near.iter_mut().for_each(|seen| seen.error_s *= self.widened);
        near
    }
}

/// Planes that bound the coefficients: none is negative, and measurements are passed above and below.
fn bounds(near: &[SizeMeasurement]) -> Vec<([f64; N_TERMS], f64)> {
    let zeros = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| (axis, 0.0));
    let passed = near.iter().flat_map(|seen| {
        let terms = terms(seen.size);
        [(terms, seen.seconds - seen.error_s), (terms, seen.seconds + seen.error_s)]
    });
    zeros.into_iter().chain(passed).collect()
}

fn passes(coefficients: &[f64; N_TERMS], near: &[SizeMeasurement]) -> bool {
    let slack = |seen: &SizeMeasurement| seen.error_s + 2.0 * ROUNDING * seen.seconds;
    let is_near = |seen: &SizeMeasurement| {
        (value(coefficients, seen.size) - seen.seconds).abs() <= slack(seen)
    };
    let largest = coefficients.iter().copied().fold(0.0, f64::max);
    coefficients.iter().all(|one| -ROUNDING * largest <= *one) && near.iter().all(is_near)
}

fn terms(size: u32) -> [f64; N_TERMS] {
    [1.0, 1.0 / f64::from(size.max(1)), f64::from(size.max(1))]
}

fn value(coefficients: &[f64; N_TERMS], size: u32) -> f64 {
    coefficients.iter().zip(terms(size)).map(|(coefficient, term)| coefficient * term).sum()
}

/// Sum of squared residuals, in units of the measurements' errors.
fn badness(seen: &[SizeMeasurement], coefficients: &[f64; N_TERMS]) -> f64 {
    let left = |seen: &SizeMeasurement| {
        ((value(coefficients, seen.size) - seen.seconds) / seen.error_s).powi(2)
    };
    seen.iter().map(left).sum()
}

/// Largest residual, in units of the measurements' errors.
fn farthest(seen: &[SizeMeasurement], coefficients: &[f64; N_TERMS]) -> f64 {
    let miss = |seen: &SizeMeasurement| {
        (value(coefficients, seen.size) - seen.seconds).abs() / seen.error_s
    };
    seen.iter().map(miss).fold(0.0, f64::max)
}

#[expect(clippy::cast_precision_loss, reason = "three at most")]
fn count(choice: &[usize]) -> f64 {
    choice.len() as f64
}

/// Least-squares fit of some terms by the normal equations; `None` where these do not determine the terms, or one is
/// negative.
fn fit(seen: &[SizeMeasurement], choice: &[usize]) -> Option<[f64; N_TERMS]> {
    let mut matrix = [[0.0; N_TERMS]; N_TERMS];
    let mut right = [0.0; N_TERMS];
    for row in 0..N_TERMS {
        if !choice.contains(&row) {
            matrix[row][row] = 1.0;
            continue;
        }
        for seen in seen {
            let (terms, weight) = (terms(seen.size), seen.error_s.powi(-2));
            right[row] += weight * terms[row] * seen.seconds;
            for column in choice {
                matrix[row][*column] += weight * terms[row] * terms[*column];
            }
        }
    }
    let found = solve(matrix, right)?;
    found.iter().all(|coefficient| 0.0 <= *coefficient).then_some(found)
}

/// Intersection of three planes.
fn corner(planes: [([f64; N_TERMS], f64); N_TERMS]) -> Option<[f64; N_TERMS]> {
    solve(planes.map(|plane| plane.0), planes.map(|plane| plane.1))
}

/// Gaussian elimination with partial pivoting; `None` where the matrix is singular, or nearly.
fn solve(
    mut matrix: [[f64; N_TERMS]; N_TERMS],
    mut right: [f64; N_TERMS],
) -> Option<[f64; N_TERMS]> {
    for (row, right) in matrix.iter_mut().zip(&mut right) {
        let largest = row.iter().map(|entry| entry.abs()).fold(0.0, f64::max);
        row.iter_mut().for_each(|entry| *entry /= largest);
        *right /= largest;
    }
    for step in 0..N_TERMS {
        let pivot = (step..N_TERMS)
            .max_by(|one, other| matrix[*one][step].abs().total_cmp(&matrix[*other][step].abs()))?;
        matrix.swap(step, pivot);
        right.swap(step, pivot);
        if matrix[step][step].abs() <= 1e-12 {
            return None;
        }
        for row in step + 1..N_TERMS {
            let factor = matrix[row][step] / matrix[step][step];
            let above = matrix[step];
            matrix[row].iter_mut().zip(above).for_each(|(entry, above)| *entry -= factor * above);
            right[row] -= factor * right[step];
        }
    }
    for row in (0..N_TERMS).rev() {
        let known: f64 = (row + 1..N_TERMS).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|one| one.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(times: &[(u32, f64)], share: f64) -> Vec<SizeMeasurement> {
        let one = |(size, seconds): &(u32, f64)| SizeMeasurement {
            size: *size,
            seconds: *seconds,
            error_s: share * seconds,
        };
        times.iter().map(one).collect()
    }

    #[track_caller]
    fn check(times: &[(u32, f64)], share: f64, size: u32, expected: [f64; 3]) {
        let found = Curve::through(&seen(times, share)).unwrap().seconds(size);
        for (found, expected) in [found.value, found.low, found.high].iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-3, "{found} is not {expected}");
        }
    }

    #[test]
    fn one_size_says_little_of_others() {
        check(&[(4, 1.0)], 0.01, 4, [1.0, 0.99, 1.01]);
        check(&[(4, 1.0)], 0.0, 8, [0.5, 0.5, 2.0]);
        check(&[(4, 1.0)], 0.0, 2, [2.0, 0.5, 2.0]);
    }

    #[test]
    fn further_sizes_narrow_it() {
        // 1 + 8/p: between the sizes only curves with a small `c` pass, too.
        check(&[(2, 5.0), (8, 2.0)], 0.0, 4, [3.0, 2.8, 3.0]);
        check(&[(2, 5.0), (4, 3.0), (8, 2.0)], 0.0, 16, [1.5, 1.5, 1.5]);
        // 1/p + 0.1 p
        check(&[(2, 0.7), (4, 0.65), (8, 0.925)], 0.0, 16, [1.6625, 1.6625, 1.6625]);
    }

    #[test]
    fn what_no_curve_passes_widens_it() {
        // Superlinear speedup: caches.
        let found = Curve::through(&seen(&[(2, 4.0), (4, 1.0)], 0.01)).unwrap().seconds(8);
        assert!(found.low < found.value && 0.3 < found.high - found.low, "{found:?}");
        assert!(Curve::through(&seen(&[(2, f64::NAN), (0, 1.0)], 0.1)).is_none());
    }
}
