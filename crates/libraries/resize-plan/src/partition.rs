//! Partitions of rows into parts.

mod grid;

use grid::Grid;
use std::ops::Range;

/// Error in a partition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// The number of parts is 0.
    #[error("rows cannot be divided among 0 parts; give 1 at least")]
    NoParts,
    /// A block has no rows.
    #[error("blocks of 0 rows cannot be dealt; give 1 row at least")]
    NoBlock,
    /// The bounds do not begin with 0, or decrease.
    #[error("bound {place} is {bound}; bounds begin with 0 and never go back")]
    Bound {
        /// Index of the bound, from 0.
        place: usize,
        /// Value of the bound.
        bound: u64,
    },
}

/// Partition of the rows `0..n_rows` into parts `0..n_parts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    n_rows: u64,
    n_parts: u32,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Part `k` holds rows `bounds[k]..bounds[k + 1]`.
    Blocks { bounds: Vec<u64> },
    /// Block `b` of `block_rows` rows is in part `b % n_parts`.
    Cyclic { block_rows: u64 },
    /// Rows are the cells of a field or of a body.
    Grid(Grid),
}

impl Partition {
    /// One block per part, with lengths that differ by at most one row; the first ones are longer.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`].
    pub fn even(n_rows: u64, n_parts: u32) -> Result<Self, PartitionError> {
        Self::given(even(n_rows, positive(n_parts)?))
    }

    /// One block per part, with the bounds where the weight before is nearest to an equal share: no part has more than
    /// its share plus the heaviest row. `weights` are those of the rows, for example their numbers of non-zeros.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`].
    pub fn weighted(weights: &[u64], n_parts: u32) -> Result<Self, PartitionError> {
        positive(n_parts)?;
        let total = weights.iter().map(|weight| u128::from(*weight)).sum::<u128>();
        let mut bounds = cuts(weights.iter().copied(), 0, total, n_parts);
        bounds.push(weights.len() as u64);
        Self::given(bounds)
    }

    /// Returns one holder's contribution to the bounds of [`weighted`](Self::weighted): the number of its rows before
    /// each part. Summed over all holders, these are the bounds except for the last one. `weights` are those of its
    /// rows, which are contiguous, `before` is the weight of all rows before them, and `total` that of all rows.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`].
    pub fn weighted_cuts(
        weights: impl IntoIterator<Item = u64>,
        before: u128,
        total: u128,
        n_parts: u32,
    ) -> Result<Vec<u64>, PartitionError> {
        positive(n_parts)?;
        Ok(cuts(weights.into_iter(), before, total, n_parts))
    }

    /// Even blocks whose bounds are multiples of `block_rows`, for rows that belong together.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`], [`PartitionError::NoBlock`].
    pub fn aligned(n_rows: u64, n_parts: u32, block_rows: u64) -> Result<Self, PartitionError> {
        if block_rows == 0 {
            return Err(PartitionError::NoBlock);
        }
        let bounds = even(n_rows.div_ceil(block_rows), positive(n_parts)?);
        let bounds = bounds.into_iter().map(|bound| bound.saturating_mul(block_rows).min(n_rows));
        Self::given(bounds.collect())
    }

    /// Rectangles of a field of `n_rows` times `n_columns` cells, which are the rows of this partition: cell `column`
    /// of row `row` has number `row * n_columns + column`. Of all grids of `n_parts` rectangles it is the one with the
    /// shortest borders.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`].
    pub fn blocks_2d(n_rows: u64, n_columns: u64, n_parts: u32) -> Result<Self, PartitionError> {
        Self::blocks_3d([1, n_rows, n_columns], n_parts)
    }

    /// Cuboids of a body of cells, which are the rows of this partition; `extents` are its numbers of planes, of rows in a
    /// plane, and of columns. Cell `column` of row `row` of plane `plane` has number `(plane * n_rows + row) * n_columns
    /// + column`. Of all grids of `n_parts` cuboids it is the one with the smallest borders.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`].
    pub fn blocks_3d(extents: [u64; 3], n_parts: u32) -> Result<Self, PartitionError> {
        let grid = Grid::smallest_borders(extents, positive(n_parts)?);
        let n_cells = extents.into_iter().fold(1, u64::saturating_mul);
        Ok(Self { n_rows: n_cells, n_parts, shape: Shape::Grid(grid) })
    }

    /// Numbers of blocks along planes, rows and columns; `None` where rows are no cells. The block at places `(i, j, k)`
    /// has number `(i * n_blocks[1] + j) * n_blocks[2] + k`.
    #[must_use]
    pub fn n_blocks(&self) -> Option<[usize; 3]> {
        match &self.shape {
            Shape::Grid(grid) => Some(grid.n_blocks()),
            Shape::Blocks { .. } | Shape::Cyclic { .. } => None,
        }
    }

    /// Planes, rows and columns of a part; `None` where rows are no cells, or there is no such part.
    #[must_use]
    pub fn block(&self, part: u32) -> Option<[Range<u64>; 3]> {
        match &self.shape {
            Shape::Grid(grid) => grid.block(part),
            Shape::Blocks { .. } | Shape::Cyclic { .. } => None,
        }
    }

    /// Part `k` holds rows `bounds[k]..bounds[k + 1]`.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`] for fewer than two bounds, [`PartitionError::Bound`] if they do not begin with 0 or
    /// decrease.
    pub fn given(bounds: Vec<u64>) -> Result<Self, PartitionError> {
        let n_parts = u32::try_from(bounds.len().saturating_sub(1)).unwrap_or(u32::MAX);
        positive(n_parts)?;
        let mut least = 0;
        for (place, bound) in bounds.iter().copied().enumerate() {
            if bound < least || place == 0 && bound != 0 {
                return Err(PartitionError::Bound { place, bound });
            }
            least = bound;
        }
        Ok(Self { n_rows: least, n_parts, shape: Shape::Blocks { bounds } })
    }

    /// One block per part, with these numbers of rows.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`].
    pub fn of_lengths(lengths: impl IntoIterator<Item = u64>) -> Result<Self, PartitionError> {
        let ends = lengths.into_iter().scan(0, |end: &mut u64, length| {
            *end = end.saturating_add(length);
            Some(*end)
        });
        Self::given(std::iter::once(0).chain(ends).collect())
    }

    /// Blocks of `block_rows` rows, dealt to the parts round-robin.
    ///
    /// # Errors
    /// [`PartitionError::NoParts`], [`PartitionError::NoBlock`].
    pub fn cyclic(n_rows: u64, n_parts: u32, block_rows: u64) -> Result<Self, PartitionError> {
        positive(n_parts)?;
        if block_rows == 0 {
            return Err(PartitionError::NoBlock);
        }
        Ok(Self { n_rows, n_parts, shape: Shape::Cyclic { block_rows } })
    }

    /// Number of rows in all parts.
    #[must_use]
    pub const fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Number of parts, including those without rows.
    #[must_use]
    pub const fn n_parts(&self) -> u32 {
        self.n_parts
    }

    /// Maximal runs of rows in one part, in the order of rows.
    pub fn runs(&self) -> impl Iterator<Item = (u32, Range<u64>)> {
        let mut row = 0;
        std::iter::from_fn(move || {
            let run = (row < self.n_rows).then(|| self.run_at(row))?;
            row = run.1.end;
            Some(run)
        })
    }

    /// Rows of one part, in order.
    pub fn rows_of(&self, part: u32) -> impl Iterator<Item = Range<u64>> {
        let mut row = match &self.shape {
            Shape::Blocks { bounds } => bounds.get(part as usize).copied().unwrap_or(self.n_rows),
            Shape::Cyclic { block_rows } => block_rows.saturating_mul(part.into()),
            Shape::Grid(grid) => grid.first(part),
        };
        std::iter::from_fn(move || {
            let (owner, rows) = (row < self.n_rows).then(|| self.run_at(row))?;
            row = self.after(part, rows.end);
            (owner == part).then_some(rows)
        })
    }

    /// Returns where the next run of a part may begin after one that ends before `end`.
    fn after(&self, part: u32, end: u64) -> u64 {
        match &self.shape {
            Shape::Blocks { .. } => self.n_rows,
            Shape::Cyclic { block_rows } => {
                end.saturating_add(block_rows.saturating_mul((self.n_parts - 1).into()))
            }
            Shape::Grid(grid) => grid.after(part, end),
        }
    }

    /// Number of rows in a part.
    #[must_use]
    pub fn n_rows_of(&self, part: u32) -> u64 {
        self.rows_of(part).map(|rows| rows.end - rows.start).sum()
    }

    /// Returns the part of an existing `row`, and the rest of its run from `row` on.
    fn run_at(&self, row: u64) -> (u32, Range<u64>) {
        match &self.shape {
            Shape::Blocks { bounds } => {
                let part = place(bounds, row);
                let end = bounds.get(part + 1).copied().unwrap_or(self.n_rows);
                (u32::try_from(part).unwrap_or(u32::MAX), row..end)
            }
            Shape::Cyclic { block_rows } => {
                let block = row / block_rows;
                let end = match self.n_parts {
                    1 => self.n_rows,
                    _ => (block + 1).saturating_mul(*block_rows).min(self.n_rows),
                };
                let part = block % u64::from(self.n_parts);
                (u32::try_from(part).unwrap_or(u32::MAX), row..end)
            }
            Shape::Grid(grid) => {
                let (part, end) = grid.run_at(row);
                (part, row..end)
            }
        }
    }
}

/// Returns the first row of each part among these rows, which begin after a weight of `before`.
fn cuts(
    weights: impl Iterator<Item = u64>,
    mut before: u128,
    total: u128,
    n_parts: u32,
) -> Vec<u64> {
    let mut bounds = Vec::with_capacity(n_parts as usize + 1);
    let mut weights = weights.peekable();
    let mut row = 0;
    for part in 0..n_parts {
        let share = total * u128::from(part) / u128::from(n_parts);
        // A row goes to the part that contains more than half of it.
        let is_before =
            |weight: &u64, before| 2 * before + u128::from(*weight) <= 2 * share && before < share;
        while let Some(weight) = weights.next_if(|weight| is_before(weight, before)) {
            before += u128::from(weight);
            row += 1;
        }
        bounds.push(row);
    }
    bounds
}

fn positive(n_parts: u32) -> Result<u32, PartitionError> {
    if n_parts == 0 { Err(PartitionError::NoParts) } else { Ok(n_parts) }
}

/// Bounds of blocks whose lengths differ by at most one; the first ones are longer.
fn even(n: u64, n_parts: u32) -> Vec<u64> {
    let parts = u64::from(n_parts);
    let (length, n_longer) = (n / parts, n % parts);
    (0..=parts).map(|part| part * length + part.min(n_longer)).collect()
}

/// Index of the last bound that is not above `row`, which skips parts without rows.
fn place(bounds: &[u64], row: u64) -> usize {
    bounds.partition_point(|bound| *bound <= row) - 1
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a part often holds one stretch of rows")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(partition: Result<Partition, PartitionError>, expected: &[&[Range<u64>]]) {
        let partition = partition.unwrap();
        assert_eq!(partition.n_parts() as usize, expected.len());
        for (part, rows) in (0..).zip(expected) {
            assert_eq!(partition.rows_of(part).collect::<Vec<_>>(), *rows, "part {part}");
            assert_eq!(partition.n_rows_of(part), rows.iter().map(|r| r.end - r.start).sum());
        }
    }

    #[test]
    fn rows_are_divided() {
        check(Partition::even(10, 4), &[&[0..3], &[3..6], &[6..8], &[8..10]]);
        check(Partition::even(2, 3), &[&[0..1], &[1..2], &[]]);
        check(Partition::even(0, 1), &[&[]]);
        check(Partition::given(vec![0, 0, 5, 5, 7]), &[&[], &[0..5], &[], &[5..7]]);
        check(Partition::cyclic(7, 2, 2), &[&[0..2, 4..6], &[2..4, 6..7]]);
        check(Partition::cyclic(7, 1, 2), &[&[0..7]]);
        check(Partition::cyclic(3, 3, 5), &[&[0..3], &[], &[]]);
        check(Partition::aligned(10, 3, 4), &[&[0..4], &[4..8], &[8..10]]);
        check(Partition::aligned(9, 2, 2), &[&[0..6], &[6..9]]);
        check(Partition::blocks_2d(4, 3, 2), &[&[0..6], &[6..12]]);
        check(Partition::blocks_2d(2, 3, 4), &[&[0..2], &[2..3], &[3..5], &[5..6]]);
        check(Partition::blocks_2d(1, 5, 2), &[&[0..3], &[3..5]]);
        check(Partition::blocks_2d(1, 1, 2), &[&[0..1], &[]]);
        check(
            Partition::blocks_3d([2, 2, 3], 2),
            &[&[0..2, 3..5, 6..8, 9..11], &[2..3, 5..6, 8..9, 11..12]],
        );
        check(Partition::blocks_3d([4, 2, 2], 2), &[&[0..8], &[8..16]]);
        check(Partition::blocks_3d([2, 4, 2], 2), &[&[0..4, 8..12], &[4..8, 12..16]]);
        let eight = Partition::blocks_3d([6, 4, 5], 8).unwrap();
        assert_eq!((eight.n_blocks(), eight.block(5)), (Some([2, 2, 2]), Some([3..6, 0..2, 3..5])));
        check(Partition::weighted(&[9, 1, 1, 1, 3, 3], 2), &[&[0..1], &[1..6]]);
        check(Partition::weighted(&[1, 1, 1, 1, 4], 2), &[&[0..4], &[4..5]]);
        check(Partition::weighted(&[0, 0, 0], 2), &[&[], &[0..3]]);
        check(Partition::weighted(&[], 2), &[&[], &[]]);
    }

    #[track_caller]
    fn check_refused(refused: Result<Partition, PartitionError>, part: &str) {
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }

    #[test]
    fn what_is_no_partition_is_refused() {
        check_refused(Partition::even(3, 0), "0 parts");
        check_refused(Partition::weighted(&[1], 0), "0 parts");
        check_refused(Partition::cyclic(3, 2, 0), "blocks of 0 rows");
        check_refused(Partition::aligned(3, 2, 0), "blocks of 0 rows");
        check_refused(Partition::blocks_2d(3, 2, 0), "0 parts");
        check_refused(Partition::given(vec![0]), "0 parts");
        check_refused(Partition::given(vec![1, 2]), "bound 0 is 1");
        check_refused(Partition::given(vec![0, 5, 4]), "bound 2 is 4");
    }
}
