//! The Laplace operator on a cube: 6 in the middle, -1 for each of up to six neighbors.

use std::ops::Range;

/// Laplace operator on a cube with `n` inner points along an edge.
#[derive(Debug)]
pub(super) struct Laplace {
    n: usize,
}

impl Laplace {
    pub(super) const fn new(n: u32) -> Self {
        Self { n: n as usize }
    }

    pub(super) const fn n_rows(&self) -> usize {
        self.n * self.n * self.n
    }

    pub(super) fn lengths(&self, rows: Range<usize>) -> Vec<u32> {
        rows.map(|row| self.entries(row).map(|_| 1).sum()).collect()
    }

    pub(super) fn fill(&self, rows: Range<usize>, columns: &mut [u32], values: &mut [f64]) {
        let entries = rows.flat_map(|row| self.entries(row));
        for ((column, value), entry) in columns.iter_mut().zip(values).zip(entries) {
            (*column, *value) = entry;
        }
    }

    /// Columns and values of a row, in ascending order.
    fn entries(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + use<> {
        let n = self.n;
        let (x, y, z) = (row % n, row / n % n, row / (n * n));
        let entry = |is_inside: bool, column: usize, value: f64| {
            is_inside.then(|| (u32::try_from(column).expect("at most 1000 points"), value))
        };
        let entries = [
            entry(z != 0, row.wrapping_sub(n * n), -1.0),
            entry(y != 0, row.wrapping_sub(n), -1.0),
            entry(x != 0, row.wrapping_sub(1), -1.0),
            entry(true, row, 6.0),
            entry(x + 1 != n, row + 1, -1.0),
            entry(y + 1 != n, row + n, -1.0),
            entry(z + 1 != n, row + n * n, -1.0),
        ];
        entries.into_iter().flatten()
    }
}
