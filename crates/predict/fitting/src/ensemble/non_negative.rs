//! Least squares without negative unknowns (Lawson and Hanson 1974, chapter 23), and the solution of symmetric systems.

use crate::solve::dot;

/// A column must reduce the residual by more than this to be taken, relative to the target.
const GAIN_MIN: f64 = 1e-10;
/// A pivot below this share of its diagonal element means that the columns are dependent.
const PIVOT_MIN: f64 = 1e-12;

/// Returns the coefficients of the columns, none of them negative, whose sum is nearest to the target.
pub(crate) fn solve(columns: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let n = columns.len();
    let right: Vec<f64> = columns.iter().map(|column| dot(column, target)).collect();
    let gram: Vec<Vec<f64>> =
        columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
    let enough = GAIN_MIN * dot(target, target).sqrt();
    let (mut solution, mut taken) = (vec![0.0; n], Vec::new());
    let mut refused = vec![false; n];
    for _ in 0..3 * n {
        let slope = |idx: &usize| right[*idx] - dot(&gram[*idx], &solution);
        let free = (0..n).filter(|idx| !taken.contains(idx) && !refused[*idx]);
        let Some(best) = free.max_by(|a, b| slope(a).total_cmp(&slope(b))) else { break };
        if slope(&best) <= enough {
            break;
        }
        taken.push(best);
        if !settle(&gram, &right, &mut taken, &mut solution) || solution[best] <= 0.0 {
            // Dependent on those taken: another one may still help.
            taken.retain(|idx| *idx != best);
            solution[best] = 0.0;
            refused[best] = true;
        }
    }
    solution
}

/// Moves to the solution over the taken columns, and gives up those that would become negative on the way.
fn settle(gram: &[Vec<f64>], right: &[f64], taken: &mut Vec<usize>, solution: &mut [f64]) -> bool {
    while !taken.is_empty() {
        let n = taken.len();
        let mut part: Vec<f64> =
            taken.iter().flat_map(|a| taken.iter().map(|b| gram[*a][*b])).collect();
        let mut wanted: Vec<f64> = taken.iter().map(|idx| right[*idx]).collect();
        if !solve_symmetric(&mut part, &mut wanted, n) {
            return false;
        }
        let step = taken.iter().zip(&wanted).filter(|(_, to)| **to <= 0.0);
        let step =
            step.map(|(idx, to)| solution[*idx] / (solution[*idx] - to).max(f64::MIN_POSITIVE));
        let step = step.fold(1.0, f64::min);
        for (idx, to) in taken.iter().zip(&wanted) {
            solution[*idx] += step * (to - solution[*idx]);
        }
        if 1.0 <= step {
            return true;
        }
        let before = taken.len();
        taken.retain(|idx| 1e-15 < solution[*idx]);
        if taken.len() == before {
            return false;
        }
        for (idx, value) in solution.iter_mut().enumerate() {
            if !taken.contains(&idx) {
                *value = 0.0;
            }
        }
    }
    true
}

/// Solves a positive definite system, given by its lower triangle, in place; false where it is singular.
pub(crate) fn solve_symmetric(gram: &mut [f64], right: &mut [f64], n: usize) -> bool {
    for row in 0..n {
        for column in 0..=row {
            let known: f64 = (0..column).map(|i| gram[row * n + i] * gram[column * n + i]).sum();
            let left = gram[row * n + column] - known;
            if column < row {
                gram[row * n + column] = left / gram[column * n + column];
            } else if left <= PIVOT_MIN * gram[row * n + row] {
                return false;
            } else {
                gram[row * n + row] = left.sqrt();
            }
        }
    }
    for row in 0..n {
        let known: f64 = (0..row).map(|i| gram[row * n + i] * right[i]).sum();
        right[row] = (right[row] - known) / gram[row * n + row];
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|i| gram[i * n + row] * right[i]).sum();
        right[row] = (right[row] - known) / gram[row * n + row];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_that_was_made_is_found() {
        let p = [1.0_f64, 2.0, 4.0, 8.0, 16.0];
        let columns: Vec<Vec<f64>> = vec![
            vec![1.0; 5],
            p.iter().map(|p| 1.0 / p).collect(),
            p.iter().map(|p| p.log2()).collect(),
            p.to_vec(),
        ];
        let target: Vec<f64> = p.iter().map(|p| 3.0 / p + 0.25 * p.log2()).collect();
        let solution = solve(&columns, &target);
        for (found, made) in solution.iter().zip([0.0, 3.0, 0.25, 0.0]) {
            assert!((found - made).abs() < 1e-9, "{solution:?}");
        }
    }

    #[test]
    fn nothing_is_negative_where_the_best_sum_would_be() {
        let p = [1.0_f64, 2.0, 4.0, 8.0];
        let columns = vec![vec![1.0; 4], p.iter().map(|p| 1.0 / p).collect()];
        let target: Vec<f64> = p.iter().map(|p| 2.0 / p - 0.1).collect();
        let solution = solve(&columns, &target);
        assert!(solution[0] == 0.0 && 1.7 < solution[1] && solution[1] < 2.0, "{solution:?}");
    }

    #[test]
    fn equal_columns_do_no_harm() {
        let columns = vec![vec![1.0, 2.0, 3.0]; 3];
        let solution = solve(&columns, &[2.0, 4.0, 6.0]);
        assert!((solution.iter().sum::<f64>() - 2.0).abs() < 1e-9, "{solution:?}");
    }
}
