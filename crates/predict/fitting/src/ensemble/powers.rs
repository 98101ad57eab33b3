//! Forms that are powers of the parameters: a curve in logarithms, slopes of the nearest points, ideal scaling.

use super::{non_negative, observed::Observed};
use crate::solve::dot;

/// Most parameters of which a curve has mixed terms.
const N_MIXED_MAX: usize = 4;
/// Ridge of the curvature, and of what is only kept determined.
const RIDGE_CURVATURE: f64 = 0.5;
const RIDGE_NONE: f64 = 1e-2;

/// Returns the number of coefficients of a curve.
pub(super) const fn n_features(n_parameters: usize) -> usize {
    let n_mixed =
        if n_parameters <= N_MIXED_MAX { n_parameters * (n_parameters - 1) / 2 } else { 0 };
    1 + 2 * n_parameters + n_mixed
}

/// Returns the value of a curve at a distance from its center.
pub(super) fn curve_value(asked: &[f64], center: &[f64], coefficients: &[f64]) -> f64 {
    let mut row = vec![0.0; coefficients.len()];
    fill_features(asked, center, &mut row);
    dot(&row, coefficients)
}

/// Writes 1, the distances from the center, their squares, and their products where there are few parameters.
fn fill_features(at: &[f64], center: &[f64], row: &mut [f64]) {
    let n = center.len();
    let far = |idx: usize| at[idx] - center[idx];
    row[0] = 1.0;
    let mut next = 1 + 2 * n;
    for idx in 0..n {
        row[1 + idx] = far(idx);
        row[1 + n + idx] = far(idx) * far(idx);
        if n <= N_MIXED_MAX {
            for other in 0..idx {
                row[next] = far(idx) * far(other);
                next += 1;
            }
        }
    }
}

/// Returns the center and the coefficients of the curve that is nearest to the points.
pub(super) fn curve(observed: &Observed) -> Option<(Vec<f64>, Vec<f64>)> {
    let center: Vec<f64> = observed.log_ranges.iter().map(|range| range.high).collect();
    let n = n_features(center.len());
    let mut system = System::new(n);
    for (at, value) in observed.logs.iter().zip(&observed.values) {
        fill_features(at, &center, &mut system.row);
        system.add(*value, 1.0);
    }
    for idx in 1..n {
        let ridge = if center.len() < idx { RIDGE_CURVATURE } else { RIDGE_NONE };
        system.hold(idx, 0.0, ridge);
    }
    Some((center, system.solve()?))
}

/// Returns the logarithm of the value where the nearest points lead by powers; `left_out` is a point that does not count.
pub(super) fn local(
    observed: &Observed,
    asked: &[f64],
    (reach, ridge, slopes): (f64, f64, &[f64]),
    left_out: Option<usize>,
) -> Option<f64> {
    let distance = |at: &[f64]| -> f64 {
        at.iter().zip(asked).map(|(x, q)| (x - q).powi(2)).sum::<f64>().sqrt()
    };
    let used = || (0..observed.logs.len()).filter(|idx| Some(*idx) != left_out);
    let distances = used().map(|idx| distance(&observed.logs[idx]));
    let nearest = distances.fold(f64::INFINITY, f64::min);
    let mut system = System::new(1 + asked.len());
    for idx in used() {
        let at = &observed.logs[idx];
        let weight = (-(distance(at) - nearest) / reach).exp();
        system.row[0] = 1.0;
        let far = at.iter().zip(asked).map(|(x, q)| x - q);
        system.row[1..].iter_mut().zip(far).for_each(|(x, far)| *x = far);
        system.add(observed.values[idx], weight);
    }
    slopes.iter().enumerate().for_each(|(idx, slope)| system.hold(1 + idx, *slope, ridge));
    system.solve().map(|solution| solution[0])
}

/// Returns the logarithm of the value by these slopes from the nearest point; `left_out` is a point that does not count.
pub(super) fn ideal(
    observed: &Observed,
    asked: &[f64],
    slopes: &[f64],
    left_out: Option<usize>,
) -> Option<f64> {
    let distance =
        |at: &[f64]| -> f64 { at.iter().zip(asked).map(|(x, q)| (x - q).abs()).sum::<f64>() };
    let points = observed.logs.iter().zip(&observed.values).enumerate();
    let used = points.filter(|(idx, _)| Some(*idx) != left_out).map(|(_, point)| point);
    let (at, value) = used.min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))?;
    let grown = at.iter().zip(asked).zip(slopes).map(|((x, q), slope)| slope * (q - x));
    Some(value + grown.sum::<f64>())
}

/// Weighted least squares, row by row.
struct System {
    /// Row that is added next.
    row: Vec<f64>,
    gram: Vec<f64>,
    right: Vec<f64>,
}

impl System {
    fn new(n: usize) -> Self {
        Self { row: vec![0.0; n], gram: vec![0.0; n * n], right: vec![0.0; n] }
    }

    fn add(&mut self, value: f64, weight: f64) {
        let n = self.row.len();
        for i in 0..n {
            let x = weight * self.row[i];
            self.right[i] += x * value;
            let lower = &mut self.gram[i * n..=i * n + i];
            lower.iter_mut().zip(&self.row).for_each(|(g, y)| *g += x * y);
        }
    }

    /// Holds an unknown at a value, by the weight of a ridge.
    fn hold(&mut self, idx: usize, value: f64, ridge: f64) {
        self.gram[idx * self.row.len() + idx] += ridge;
        self.right[idx] += ridge * value;
    }

    fn solve(mut self) -> Option<Vec<f64>> {
        let n = self.row.len();
        non_negative::solve_symmetric(&mut self.gram, &mut self.right, n).then_some(self.right)
    }
}
