//! Blocks of the cells of a field or of a body, which are stored row by row and plane by plane.

use super::{even, place};
use std::ops::Range;

/// Bounds of blocks along each axis: planes, rows, and columns. The block at places `(i, j, k)` of the grid has number
/// `(i * n_blocks[1] + j) * n_blocks[2] + k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    bounds: [Vec<u64>; 3],
}

impl Grid {
    /// Returns the grid of `n_parts` blocks with the smallest borders; among equals the one with the longest runs. A
    /// field, which is one plane, is cut along its rows and columns only.
    pub(super) fn smallest_borders(extents: [u64; 3], n_parts: u32) -> Self {
        let divisors = |n: u32| (1..=n).rev().filter(move |divisor| n.is_multiple_of(*divisor));
        let planes = if extents[0] <= 1 { 1 } else { n_parts };
        let grids = divisors(n_parts).filter(|n| *n <= planes).flat_map(|n_planes| {
            let rest = n_parts / n_planes;
            divisors(rest).map(move |n_rows| [n_planes, n_rows, rest / n_rows])
        });
        let n_blocks = grids.min_by_key(|grid| borders(extents, *grid)).unwrap_or([1, 1, n_parts]);
        Self { bounds: [0, 1, 2].map(|axis| even(extents[axis], n_blocks[axis])) }
    }

    /// Number of blocks along each axis.
    pub(super) fn n_blocks(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.bounds[axis].len() - 1)
    }

    /// Planes, rows and columns of a part; `None` where there is no such part.
    pub(super) fn block(&self, part: u32) -> Option<[Range<u64>; 3]> {
        let [_, rows, columns] = self.n_blocks();
        let part = part as usize;
        let places = [part / columns / rows, part / columns % rows, part % columns];
        let range =
            |axis: usize| self.bounds[axis][places[axis]]..self.bounds[axis][places[axis] + 1];
        (places[0] < self.n_blocks()[0]).then(|| [0, 1, 2].map(range))
    }

    /// Returns the part of an existing cell, and the end of its run from there.
    pub(super) fn run_at(&self, cell: u64) -> (u32, u64) {
        let at = self.indices(cell);
        let places = [0, 1, 2].map(|axis| place(&self.bounds[axis], at[axis]));
        let ends = [0, 1, 2].map(|axis| self.bounds[axis][places[axis] + 1]);
        let is_whole =
            |axis: usize| self.bounds[axis][places[axis]] == 0 && ends[axis] == self.extent(axis);
        let end = match (is_whole(1), is_whole(2)) {
            (true, true) => self.cell([ends[0], 0, 0]),
            (false, true) => self.cell([at[0], ends[1], 0]),
            (_, false) => self.cell([at[0], at[1], ends[2]]),
        };
        let [_, rows, columns] = self.n_blocks();
        let part = (places[0] * rows + places[1]) * columns + places[2];
        (u32::try_from(part).unwrap_or(u32::MAX), end)
    }

    /// Returns the first cell of a part, which another part has where this one is empty.
    pub(super) fn first(&self, part: u32) -> u64 {
        self.block(part).map_or(u64::MAX, |axes| self.cell(axes.map(|axis| axis.start)))
    }

    /// Returns the first cell of a part after its run that ends before `end`.
    pub(super) fn after(&self, part: u32, end: u64) -> u64 {
        let Some([planes, rows, columns]) = self.block(part) else { return u64::MAX };
        let [plane, row, _] = self.indices(end - 1);
        if row + 1 < rows.end {
            return self.cell([plane, row + 1, columns.start]);
        }
        match plane + 1 < planes.end {
            true => self.cell([plane + 1, rows.start, columns.start]),
            false => u64::MAX,
        }
    }

    fn cell(&self, [plane, row, column]: [u64; 3]) -> u64 {
        (plane * self.extent(1) + row) * self.extent(2) + column
    }

    fn indices(&self, cell: u64) -> [u64; 3] {
        let (row, column) = (cell / self.extent(2), cell % self.extent(2));
        [row / self.extent(1), row % self.extent(1), column]
    }

    fn extent(&self, axis: usize) -> u64 {
        self.bounds[axis].last().copied().unwrap_or(0)
    }
}

/// Number of faces of cells between blocks.
fn borders(extents: [u64; 3], grid: [u32; 3]) -> u64 {
    let across = |axis: usize| {
        let face = extents[(axis + 1) % 3].saturating_mul(extents[(axis + 2) % 3]);
        u64::from(grid[axis] - 1).saturating_mul(face)
    };
    [0, 1, 2].map(across).into_iter().fold(0, u64::saturating_add)
}
