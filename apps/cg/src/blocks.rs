//! Blocks of rows of fixed length, the units of distribution and of summation.
//!
//! A rank holds whole blocks. A sum over all rows adds the rows within each block, and then the blocks in order: these
//! are the same additions whichever ranks hold the blocks, so that the sum has the same bits on any number of ranks.

use std::ops::Range;

/// Number of rows in a block; the last one may be shorter.
pub const BLOCK_ROWS: usize = 256;

/// Number of blocks for `n_rows` rows.
#[must_use]
pub const fn n_blocks(n_rows: usize) -> usize {
    n_rows.div_ceil(BLOCK_ROWS)
}

/// Rows of a rank: blocks are distributed evenly, and the first ranks get one more.
#[must_use]
pub fn rows_of(n_rows: usize, rank: usize, n_ranks: usize) -> Range<usize> {
    let first = |rank: usize| {
        let (each, more) = (n_blocks(n_rows) / n_ranks, n_blocks(n_rows) % n_ranks);
        (BLOCK_ROWS * (rank * each + rank.min(more))).min(n_rows)
    };
    first(rank)..first(rank + 1)
}

/// Rank that holds a row.
#[must_use]
pub fn owner(n_rows: usize, row: usize, n_ranks: usize) -> usize {
    let (each, more) = (n_blocks(n_rows) / n_ranks, n_blocks(n_rows) % n_ranks);
    let block = row / BLOCK_ROWS;
    let longer = more * (each + 1);
    if block < longer { block / (each + 1) } else { more + (block - longer) / each.max(1) }
}

/// Dot products of each block of two vectors.
#[must_use]
pub fn block_sums(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.chunks(BLOCK_ROWS).zip(b.chunks(BLOCK_ROWS)).map(|(a, b)| dot(a, b)).collect()
}

/// Dot product with eight independent sums, so that the compiler can vectorize it.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const N_SUMS: usize = 8;
    let (a, a_left) = a.as_chunks::<N_SUMS>();
    let (b, b_left) = b.as_chunks::<N_SUMS>();
    let mut sums = [0.0; N_SUMS];
    for (a, b) in a.iter().zip(b) {
        for at in 0..N_SUMS {
            sums[at] += a[at] * b[at];
        }
    }
    let left = a_left.iter().zip(b_left).map(|(a, b)| a * b);
    sums.into_iter().chain(left).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use resize_plan::Partition;

    proptest! {
        #[test]
        fn every_row_has_one_owner(n_rows in 0_usize..20_000, n_ranks in 1_usize..40) {
            let mut next = 0;
            for rank in 0..n_ranks {
                let rows = rows_of(n_rows, rank, n_ranks);
                prop_assert_eq!(rows.start, next);
                next = rows.end;
                for row in [rows.start, rows.end.saturating_sub(1)] {
                    if rows.contains(&row) {
                        prop_assert_eq!(owner(n_rows, row, n_ranks), rank);
                    }
                }
                prop_assert!(rows.is_empty() || rows.start.is_multiple_of(BLOCK_ROWS));
            }
            prop_assert_eq!(next, n_rows);
        }

        #[test]
        fn sums_do_not_depend_on_the_number_of_ranks(
            numbers in proptest::collection::vec(-1e3..1e3_f64, 0..3000),
            n_ranks in 1_usize..6,
        ) {
            let whole = block_sums(&numbers, &numbers);
            let parts = (0..n_ranks).flat_map(|rank| {
                let own = &numbers[rows_of(numbers.len(), rank, n_ranks)];
                block_sums(own, own)
            });
            prop_assert_eq!(whole, parts.collect::<Vec<_>>());
        }
    }

    /// So a resize finds the rows where they are.
    #[test]
    fn rows_are_those_of_aligned_partitions() {
        for (n_rows, n_ranks) in [(0, 1), (100, 3), (2187, 3), (943_695, 7)] {
            let partition = Partition::aligned(n_rows as u64, n_ranks, BLOCK_ROWS as u64).unwrap();
            for rank in 0..n_ranks {
                let rows = rows_of(n_rows, rank as usize, n_ranks as usize);
                let expected: Vec<u64> = partition.rows_of(rank).flatten().collect();
                assert!(rows.map(|row| row as u64).eq(expected), "{n_rows} {n_ranks}");
            }
        }
    }

    #[test]
    fn all_are_added() {
        let ones = vec![1.0; 700];
        assert_eq!(block_sums(&ones, &ones), [256.0, 256.0, 188.0]);
        assert_eq!(block_sums(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), [32.0]);
    }
}
