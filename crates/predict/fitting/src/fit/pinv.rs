//! Least squares by the pseudo-inverse over given terms, as in the source: `C = pinv(A) * Y`.
//!
//! The singular values come from one-sided Jacobi rotations (Hestenes 1958) over columns of unit length;
//! those below a share of the largest are dropped.

use super::pieces::Sample;
use crate::{
    model::Piece,
    search::SMALL,
    solve::dot,
    term::{Formula, Term, Weighted},
};

const SINGULAR_MIN: f64 = 1e-12;
const N_SWEEPS_MAX: usize = 60;

/// Returns the formula of these terms with the least sum of squares; `None` with fewer points than terms,
/// or without a finite solution.
pub(crate) fn fit(samples: &[Sample<'_>], terms: &[Term]) -> Option<Piece> {
    if samples.len() < terms.len() {
        return None;
    }
    let column = |term: &Term| samples.iter().map(|sample| term.value(sample.at)).collect();
    let columns: Vec<Vec<f64>> = terms.iter().map(column).collect();
    let target: Vec<f64> = samples.iter().map(|sample| sample.measured.value).collect();
    let coefficients = solve(columns, &target);
    if coefficients.iter().any(|c| !c.is_finite()) {
        return None;
    }
    let weighted = |(term, c): (&Term, f64)| Weighted { coefficient: c, term: term.clone() };
    let formula = Formula { terms: terms.iter().zip(coefficients).map(weighted).collect() };
    let largest = target.iter().map(|value| value.abs()).fold(f64::MIN_POSITIVE, f64::max);
    // A measured zero cannot be the reference of a relative error.
    let off = |sample: &Sample<'_>| {
        let (value, size) =
            (sample.measured.value, sample.measured.value.abs().max(SMALL * largest));
        ((formula.value(sample.at) - value) / size).powi(2)
    };
    let n_free = samples.len().saturating_sub(terms.len()).max(1);
    let noise = (samples.iter().map(off).sum::<f64>() / n_free as f64).sqrt();
    Some(Piece { range: None, formula, alternatives: Vec::new(), draws: Vec::new(), noise })
}

/// Returns `pinv(A) * y`, with `A` given by its columns.
pub(crate) fn solve(mut columns: Vec<Vec<f64>>, target: &[f64]) -> Vec<f64> {
    let n = columns.len();
    let lengths: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    for (column, length) in columns.iter_mut().zip(&lengths) {
        column.iter_mut().for_each(|x| *x /= length);
    }
    let mut right: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    for _ in 0..N_SWEEPS_MAX {
        let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let turned = pairs.filter(|(i, j)| rotate(&mut columns, &mut right, *i, *j)).count();
        if turned == 0 {
            break;
        }
    }
    // Now columns = U * S, and A = columns * right^T.
    let squares: Vec<f64> = columns.iter().map(|column| dot(column, column)).collect();
    let least = SINGULAR_MIN * SINGULAR_MIN * squares.iter().copied().fold(0.0, f64::max);
    let mut solution = vec![0.0; n];
    for ((column, square), vector) in columns.iter().zip(&squares).zip(&right) {
        if least < *square {
            let part = dot(column, target) / square;
            solution.iter_mut().zip(vector).for_each(|(s, v)| *s += part * v);
        }
    }
    solution.iter().zip(&lengths).map(|(s, length)| s / length).collect()
}

/// Makes two columns orthogonal; returns whether they were not.
fn rotate(columns: &mut [Vec<f64>], right: &mut [Vec<f64>], i: usize, j: usize) -> bool {
    let (a, b) = (dot(&columns[i], &columns[i]), dot(&columns[j], &columns[j]));
    let c = dot(&columns[i], &columns[j]);
    if c.abs() <= f64::EPSILON * (a * b).sqrt() {
        return false;
    }
    let zeta = (b - a) / (2.0 * c);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    for rows in [columns, right] {
        let (head, tail) = rows.split_at_mut(j);
        for (x, y) in head[i].iter_mut().zip(&mut tail[0]) {
            (*x, *y) = (cosine * (*x - tangent * *y), cosine * (*y + tangent * *x));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(columns: &[&[f64]], target: &[f64], expected: &[f64]) {
        let solution = solve(columns.iter().map(|column| column.to_vec()).collect(), target);
        for (found, wanted) in solution.iter().zip(expected) {
            assert!((found - wanted).abs() < 1e-9, "{solution:?}");
        }
    }

    #[test]
    fn the_solution_is_the_shortest_with_the_least_squares() {
        check(&[&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]], &[1.0, 3.0, 5.0], &[-1.0, 2.0]);
        check(&[&[1.0, 1.0, 1.0]], &[1.0, 2.0, 6.0], &[3.0]);
        // Two equal columns share the coefficient.
        check(&[&[1.0, 2.0], &[1.0, 2.0]], &[4.0, 8.0], &[2.0, 2.0]);
    }
}
