//! Blocks of a field of two dimensions.

use std::ops::Range;

/// Blocks of a field that lies row by row: the part in row `i` and column `j` of the grid is `i * n_columns_of_parts + j`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// Where the rows of parts begin, and the end.
    pub(super) rows: Vec<u64>,
    /// Where the columns of parts begin, and the end.
    pub(super) columns: Vec<u64>,
}

impl Grid {
    /// The grid of `n_parts` parts whose borders are shortest; of equals the one with the longest runs.
    pub(super) fn shortest((n_rows, n_columns): (u64, u64), n_parts: u32) -> Self {
        let border = |down: &u32| {
            let (down, across) = (u64::from(*down), u64::from(n_parts / down));
            let borders = (down - 1).saturating_mul(n_columns);
            borders.saturating_add((across - 1).saturating_mul(n_rows))
        };
        let divisors = (1..=n_parts).rev().filter(|down| n_parts.is_multiple_of(*down));
        let down = divisors.min_by_key(border).unwrap_or(1);
        Self { rows: even(n_rows, down), columns: even(n_columns, n_parts / down) }
    }

    /// Rows and columns of parts.
    pub(super) fn shape(&self) -> (u32, u32) {
        let parts = |bounds: &[u64]| u32::try_from(bounds.len() - 1).unwrap_or(u32::MAX);
        (parts(&self.rows), parts(&self.columns))
    }

    /// Rows and columns of a part.
    pub(super) fn block(&self, part: u32) -> Option<[Range<u64>; 2]> {
        let across = self.shape().1;
        let range = |bounds: &[u64], place: u32| {
            let place = place as usize;
            Some(*bounds.get(place)?..*bounds.get(place + 1)?)
        };
        Some([range(&self.rows, part / across)?, range(&self.columns, part % across)?])
    }

    /// The part of a cell, which exists, and the end of the stretch of cells from there that it holds.
    pub(super) fn run_at(&self, cell: u64) -> (u32, u64) {
        let width = self.width();
        let (row, column) = (cell / width, cell % width);
        let (down, across) = (place(&self.rows, row), place(&self.columns, column));
        let is_whole = self.columns[across] == 0 && self.columns[across + 1] == width;
        let end = match is_whole {
            true => self.rows[down + 1] * width,
            false => row * width + self.columns[across + 1],
        };
        let part = down * (self.columns.len() - 1) + across;
        (u32::try_from(part).unwrap_or(u32::MAX), end)
    }

    /// The first cell of a part, and how many cells lie between two stretches of it.
    pub(super) fn first(&self, part: u32) -> (u64, u64) {
        let Some([rows, columns]) = self.block(part) else { return (u64::MAX, 0) };
        let first = rows.start * self.width() + columns.start;
        (first, self.width() - (columns.end - columns.start))
    }

    fn width(&self) -> u64 {
        self.columns.last().copied().unwrap_or(0)
    }
}

/// Bounds of blocks of equal length up to one; the first ones are longer.
pub(super) fn even(n: u64, n_parts: u32) -> Vec<u64> {
    let parts = u64::from(n_parts);
    let (length, n_longer) = (n / parts, n % parts);
    (0..=parts).map(|part| part * length + part.min(n_longer)).collect()
}

/// The last bound that is not above, so that parts without rows are passed over.
pub(super) fn place(bounds: &[u64], row: u64) -> usize {
    bounds.partition_point(|bound| *bound <= row) - 1
}
