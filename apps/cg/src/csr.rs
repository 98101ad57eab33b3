//! Rows of a sparse matrix in compressed form: construction and multiplication.

use malleable::Csr;
use std::iter::repeat_n;
use std::sync::Arc;

/// Creates rows of these lengths; `fill` writes their columns and values.
pub(crate) fn filled(lengths: Vec<u32>, fill: impl FnOnce(&mut [u32], &mut [f64])) -> Csr {
    let n_non_zeros = lengths.iter().map(|length| *length as usize).sum();
    let (mut columns, mut values): (Arc<[u32]>, Arc<[f64]>) =
        (repeat_n(0, n_non_zeros).collect(), repeat_n(0.0, n_non_zeros).collect());
    fill(Arc::make_mut(&mut columns), Arc::make_mut(&mut values));
    Csr { lengths: lengths.into(), columns, values }
}

/// Multiplies these rows with a vector that has a number for each column.
///
/// The product of a row does not depend on the rows around it, so that it is the same on any rank.
pub fn multiply(csr: &Csr, vector: &[f64], product: &mut [f64]) {
    for (product, row) in product.iter_mut().zip(csr.rows()) {
        *product = dot(&csr.columns[row.clone()], &csr.values[row], vector);
    }
}

/// Number of independent sums: enough to hide the latency of an addition.
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
        let csr = filled(lengths.to_vec(), |columns, values| {
            for (at, (column, value)) in columns.iter_mut().zip(values).enumerate() {
                *column = u32::try_from(at % vector.len()).unwrap();
                *value = f64::from(*column + 1);
            }
        });
        let mut product = vec![f64::NAN; lengths.len()];
        multiply(&csr, vector, &mut product);
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
