//! Sparse matrix rows.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a sparse matrix in compressed form (CSR): the number of entries of each row, and the columns and values of
/// all entries.
///
/// It is one object for [`Data`](crate::Data): its arrays are moved in the order in which they are needed. They are
/// shared (`Arc`), so that they can be sent while the program computes with them.
#[derive(Clone, PartialEq)]
pub struct Csr<T = f64, C = u32> {
    /// Number of entries of each row.
    pub lengths: Arc<[u32]>,
    /// Column of each entry, row by row; `C` is `u64` where there are too many for 32 bits.
    pub columns: Arc<[C]>,
    /// Value of each entry, row by row.
    pub values: Arc<[T]>,
}

impl<T, C> Csr<T, C> {
    /// Number of rows held here.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.lengths.len()
    }

    /// Number of entries held here.
    #[must_use]
    pub fn n_entries(&self) -> usize {
        self.columns.len()
    }

    /// Position of each row's entries in `columns` and `values`.
    pub fn rows(&self) -> impl Iterator<Item = Range<usize>> {
        self.lengths.iter().scan(0, |begin, length| {
            let row = *begin..*begin + *length as usize;
            *begin = row.end;
            Some(row)
        })
    }
}

impl<T, C> Default for Csr<T, C> {
    fn default() -> Self {
        Self { lengths: Arc::from([]), columns: Vec::new().into(), values: Vec::new().into() }
    }
}

impl<T, C> fmt::Debug for Csr<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Csr of {} rows with {} entries", self.n_rows(), self.n_entries())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found() {
        let lengths = [2, 0, 1].into();
        let csr = Csr { lengths, columns: [0, 3, 1].into(), values: [1.0, 2.0, 3.0].into() };
        assert_eq!(csr.rows().collect::<Vec<_>>(), [0..2, 2..2, 2..3]);
        assert_eq!(format!("{csr:?}"), "Csr of 3 rows with 3 entries");
        assert_eq!(Csr::<f64, u64>::default().rows().count(), 0);
    }
}
