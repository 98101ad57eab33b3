//! Tests whether a matrix is symmetric by its products with two vectors: `v A w` is `w A v`.

use crate::blocks::rows_of;
use crate::csr::multiply;
use crate::{CgError, Group};
use malleable::Csr;

/// Relative difference above which it is not due to rounding.
const TOLERANCE: f64 = 1e-9;

/// Returns whether the matrix of all ranks' rows is symmetric, as far as two vectors show.
pub(crate) fn holds(csr: &Csr, n_rows: usize, group: &impl Group) -> Result<bool, CgError> {
    let vectors =
        [1_u64, 2].map(|which| (0..n_rows as u64).map(|row| number(row, which)).collect());
    let [v, w]: [Vec<f64>; 2] = vectors;
    let own = rows_of(n_rows, group.rank(), group.n_ranks());
    let mut product = vec![0.0; own.len()];
    let mut sums = [0.0; 3];
    for (sum, (left, right)) in [(&v, &w), (&w, &v)].into_iter().enumerate() {
        multiply(csr, right, &mut product);
        for (left, product) in left[own.clone()].iter().zip(&product) {
            sums[sum] += left * product;
            sums[2] += (left * product).abs();
        }
    }
    group.sum(&mut sums)?;
    Ok((sums[0] - sums[1]).abs() <= TOLERANCE * sums[2])
}

/// Pseudorandom number between -1 and 1 for each row.
fn number(row: u64, which: u64) -> f64 {
    let mut mixed = (4 * row + which).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
