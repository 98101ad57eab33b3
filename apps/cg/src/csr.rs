//! Rows of a sparse matrix, stored by rows: lengths, columns and values, as in the source.

use std::sync::Arc;

/// Consecutive rows: the columns and values of the first one, then of the next.
///
/// The parts are constant and sit in an [`Arc`], so that they can travel to other ranks while they are multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// Non-zeros of each row.
    pub lengths: Arc<[u32]>,
    /// Their columns, ascending within a row.
    pub columns: Arc<[u32]>,
    /// Their values.
    pub values: Arc<[f64]>,
}

impl Default for Csr {
    fn default() -> Self {
        Self::zeroed(Vec::new())
    }
}

impl Csr {
    /// Rows of these lengths with room for columns and values.
    #[must_use]
    pub fn zeroed(lengths: Vec<u32>) -> Self {
        let n_non_zeros = lengths.iter().map(|length| *length as usize).sum();
        Self {
            lengths: lengths.into(),
            columns: std::iter::repeat_n(0, n_non_zeros).collect(),
            values: std::iter::repeat_n(0.0, n_non_zeros).collect(),
        }
    }

    /// Columns and values, to be filled in; none when others share them.
    pub(crate) fn parts_mut(&mut self) -> Option<(&mut [u32], &mut [f64])> {
        Arc::get_mut(&mut self.columns).zip(Arc::get_mut(&mut self.values))
    }

    /// How many rows there are.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.lengths.len()
    }

    /// How many non-zeros there are.
    #[must_use]
    pub fn n_non_zeros(&self) -> usize {
        self.values.len()
    }

    /// Columns and values of each row.
    pub fn rows(&self) -> impl Iterator<Item = (&[u32], &[f64])> {
        let (mut columns, mut values) = (&*self.columns, &*self.values);
        self.lengths.iter().map(move |length| {
            let row;
            (row, columns) = columns.split_at(*length as usize);
            let numbers;
            (numbers, values) = values.split_at(*length as usize);
            (row, numbers)
        })
    }

    /// These rows times a vector with a number for each column.
    ///
    /// What a row gives does not depend on the rows around it, so that it is the same on any rank.
    pub fn multiply(&self, vector: &[f64], product: &mut [f64]) {
        for (product, (columns, values)) in product.iter_mut().zip(self.rows()) {
            *product = dot(columns, values, vector);
        }
    }
}

/// Sums that are added to at the same time: as many as hide how long an addition takes.
const N_SUMS: usize = 4;

#[inline]
fn dot(columns: &[u32], values: &[f64], vector: &[f64]) -> f64 {
    let (columns, columns_left) = columns.as_chunks::<N_SUMS>();
    let (values, values_left) = values.as_chunks::<N_SUMS>();
    let mut sums = [0.0; N_SUMS];
    for (columns, values) in columns.iter().zip(values) {
        for at in 0..N_SUMS {
            sums[at] += values[at] * vector[columns[at] as usize];
        }
    }
    let left = columns_left.iter().zip(values_left);
    let left: f64 = left.map(|(column, value)| value * vector[*column as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lengths: &[u32], vector: &[f64], expected: &[f64]) {
        let mut csr = Csr::zeroed(lengths.to_vec());
        let (columns, values) = csr.parts_mut().unwrap();
        for (at, (column, value)) in columns.iter_mut().zip(values).enumerate() {
            *column = u32::try_from(at % vector.len()).unwrap();
            *value = f64::from(*column + 1);
        }
        let mut product = vec![f64::NAN; lengths.len()];
        csr.multiply(vector, &mut product);
        assert_eq!(product, expected);
    }

    #[test]
    fn rows_are_multiplied() {
        check(&[], &[1.0], &[]);
        check(&[0, 1], &[5.0], &[0.0, 5.0]);
        check(&[2, 1], &[1.0, 10.0], &[21.0, 1.0]);
        check(&[9, 0, 2], &[1.0; 9], &[45.0, 0.0, 3.0]);
        check(&[4, 5], &[1.0; 9], &[10.0, 35.0]);
    }
}
