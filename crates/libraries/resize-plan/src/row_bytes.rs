//! Sizes of rows, in bytes.

use std::ops::Range;

/// Sizes of the rows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowBytes {
    /// The same number of bytes for every row.
    Each(u64),
    /// Prefix sums: one more than rows, the first one 0.
    Sums(Vec<u64>),
}

impl RowBytes {
    /// Creates prefix sums from the bytes of each row, in order.
    pub fn of_rows(bytes: impl IntoIterator<Item = u64>) -> Self {
        let mut sum = 0_u64;
        let sums = bytes.into_iter().map(|row| {
            sum = sum.saturating_add(row);
            sum
        });
        Self::Sums(std::iter::once(0).chain(sums).collect())
    }

    /// Bytes of `rows`; rows that do not exist count 0.
    #[must_use]
    pub fn of(&self, rows: &Range<u64>) -> u64 {
        match self {
            Self::Each(bytes) => bytes.saturating_mul(rows.end.saturating_sub(rows.start)),
            Self::Sums(sums) => {
                let until = |row: u64| {
                    let place = usize::try_from(row).unwrap_or(usize::MAX);
                    sums.get(place).or(sums.last()).copied().unwrap_or(0)
                };
                until(rows.end).saturating_sub(until(rows.start))
            }
        }
    }
}
