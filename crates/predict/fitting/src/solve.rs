//! Least squares with a handful of unknowns, over normalized columns.

/// Largest number of terms in one formula.
pub const N_TERMS_MAX: usize = 4;

/// A pivot below this share of its diagonal element means that the columns are dependent.
const PIVOT_MIN: f64 = 1e-9;

pub(crate) type Row = [f64; N_TERMS_MAX];

/// Normal equations of up to four columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Normal {
    pub(crate) gram: [Row; N_TERMS_MAX],
    pub(crate) right: Row,
}

impl Normal {
    /// Returns the solution for the first `n` columns; `None` where they are linearly dependent.
    pub(crate) fn solve(&self, n: usize) -> Option<Row> {
        let lower = self.lower(n)?;
        let middle = forward(&lower, &self.right, n);
        let mut solution = [0.0; N_TERMS_MAX];
        for row in (0..n).rev() {
            let known: f64 = (row + 1..n).map(|i| lower[i][row] * solution[i]).sum();
            solution[row] = (middle[row] - known) / lower[row][row];
        }
        Some(solution)
    }

    /// Returns the Cholesky factor of the first `n` rows and columns; `None` where these are singular.
    pub(crate) fn lower(&self, n: usize) -> Option<[Row; N_TERMS_MAX]> {
        let mut lower = [[0.0; N_TERMS_MAX]; N_TERMS_MAX];
        for row in 0..n {
            for column in 0..=row {
                let known: f64 = (0..column).map(|i| lower[row][i] * lower[column][i]).sum();
                let left = self.gram[row][column] - known;
                if column < row {
                    lower[row][column] = left / lower[column][column];
                } else if left <= PIVOT_MIN * self.gram[row][row] {
                    return None;
                } else {
                    lower[row][row] = left.sqrt();
                }
            }
        }
        Some(lower)
    }
}

/// Solves `lower * x = right`.
pub(crate) fn forward(lower: &[Row; N_TERMS_MAX], right: &Row, n: usize) -> Row {
    let mut solution = [0.0; N_TERMS_MAX];
    for row in 0..n {
        let known: f64 = (0..row).map(|i| lower[row][i] * solution[i]).sum();
        solution[row] = (right[row] - known) / lower[row][row];
    }
    solution
}

/// Converts a number of points or terms for calculations.
pub(crate) const fn count(n: usize) -> f64 {
    n as f64
}

/// Returns the dot product.
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    // Four sums, which a processor adds up side by side.
    let mut sums = [0.0; 4];
    let (lefts, left_rest) = left.as_chunks::<4>();
    let (rights, right_rest) = right.as_chunks::<4>();
    for (a, b) in lefts.iter().zip(rights) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}
