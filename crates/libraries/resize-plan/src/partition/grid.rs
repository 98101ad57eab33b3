//! Blocks of a two-dimensional field.

use std::ops::Range;

/// Blocks of a field stored row by row: the part in row `i` and column `j` of the grid has number `i *
/// n_columns_of_parts + j`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// First rows of the parts, and the end.
    pub(super) rows: Vec<u64>,
    /// First columns of the parts, and the end.
    pub(super) columns: Vec<u64>,
}

impl Grid {
    /// Returns the grid of `n_parts` parts with the shortest borders; among equals the one with the longest runs.
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

    /// Numbers of rows and columns of parts.
    pub(super) fn shape(&self) -> (u32, u32) {
        let parts = |bounds: &[u64]| u32::try_from(bounds.len() - 1).unwrap_or(u32::MAX);
        (parts(&self.rows), parts(&self.columns))
    }

    /// Rows and columns of the field in a part.
    pub(super) fn block(&self, part: u32) -> Option<[Range<u64>; 2]> {
        let across = self.shape().1;
        let range = |bounds: &[u64], place: u32| {
            let place = place as usize;
            Some(*bounds.get(place)?..*bounds.get(place + 1)?)
        };
        Some([range(&self.rows, part / across)?, range(&self.columns, part % across)?])
    }

    /// Returns the part of an existing cell, and the end of its run from there.
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

    /// Returns the first cell of a part, and the number of cells between two of its runs.
    pub(super) fn first(&self, part: u32) -> (u64, u64) {
        let Some([rows, columns]) = self.block(part) else { return (u64::MAX, 0) };
        let first = rows.start * self.width() + columns.start;
        (first, self.width() - (columns.end - columns.start))
    }

    fn width(&self) -> u64 {
        self.columns.last().copied().unwrap_or(0)
    }
}

/// Bounds of blocks whose lengths differ by at most one; the first ones are longer.
pub(super) fn even(n: u64, n_parts: u32) -> Vec<u64> {
    let parts = u64::from(n_parts);
    let (length, n_longer) = (n / parts, n % parts);
    (0..=parts).map(|part| part * length + part.min(n_longer)).collect()
}

/// Index of the last bound that is not above `row`, which skips parts without rows.
pub(super) fn place(bounds: &[u64], row: u64) -> usize {
    bounds.partition_point(|bound| *bound <= row) - 1
}
